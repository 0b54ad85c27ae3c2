/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process events and raw samples that wait to be handled, in order of time. They arrive out of
 * order, from several CPUs through several buffers. So they are handled in batches: a batch takes
 * what is not later than a horizon, which lies so far back that nothing older is expected to
 * arrive.
 */
#ifndef EHPERF_UNWIND_EVENT_QUEUE_H
#define EHPERF_UNWIND_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process_event.h"
#include "records_abi.h"

struct queued_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t number;  /* in order of arrival: sorts events of equal time */
	struct process_event event;
	struct raw_record *raw; /* not NULL: it is this sample, and .event is unused */
};

/* {} at first; private */
struct event_queue {
	struct queued_event *events;
	size_t first, nr, room; /* events[first .. nr) wait */
	size_t batch_end;       /* the current batch is events[first .. batch_end) */
	uint64_t nr_added;
};

/* Copies the event, with its path. 0 or -ENOMEM */
int event_queue_add(struct event_queue *queue, const struct process_event *event);

/*
 * Copies a record of the ring buffer (records_abi.h): RECORD_RAW, RECORD_UNMAPPED or RECORD_EXITED.
 * 0, -ENOMEM, or -EBADMSG for other records and truncated ones
 */
int event_queue_add_record(struct event_queue *queue, const void *record, size_t bytes);

/* Begins a batch: what has been added so far and is not later than the horizon. */
void event_queue_begin(struct event_queue *queue, uint64_t horizon_ns);
/* Takes the earliest of the batch, which the caller frees. False: the batch is done */
bool event_queue_next(struct event_queue *queue, struct queued_event *next);
void queued_event_free(struct queued_event *event);

bool event_queue_is_empty(const struct event_queue *queue);
/*
 * Is an event of this process queued, samples apart, whose time is after from_ns and not after
 * to_ns?
 */
bool event_queue_has_event(const struct event_queue *queue, pid_t pid, uint64_t from_ns,
			   uint64_t to_ns);

void event_queue_free(struct event_queue *queue);

#endif
