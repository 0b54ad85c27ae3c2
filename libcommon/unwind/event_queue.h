/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has happened and waits to be handled, in the order of time: events of processes, and samples that came raw.
 * They arrive out of order, by several buffers and from several CPUs, so they are handled in turns: each takes what
 * is older than a horizon, after which nothing older is expected to arrive.
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
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t number;	/* in the order of arrival, which decides between events of one time */
	struct process_event event;
	struct raw_record *raw;	/* if not NULL, it is this sample and no event */
};

/* {} at first; private */
struct event_queue {
	struct queued_event *events;
	size_t first, nr, room;		/* what waits are [first, nr) */
	size_t turn_end;		/* those of this turn end here */
	uint64_t nr_added;
};

/* Copies the event, with its path. 0 or -ENOMEM */
int event_queue_add(struct event_queue *queue, const struct process_event *event);

/*
 * Copies a record of the ring buffer (records_abi.h): RECORD_RAW, RECORD_UNMAPPED or RECORD_EXITED. 0, -ENOMEM, or
 * -EBADMSG for any other record, and for one that is shorter than it says
 */
int event_queue_add_record(struct event_queue *queue, const void *record, size_t bytes);

/* Begins a turn: all that has been added and is not later than the horizon. What is added from now on is not in it. */
void event_queue_begin(struct event_queue *queue, uint64_t horizon_ns);
/* Takes out the earliest of the turn, for the caller to free; false: the turn is over. */
bool event_queue_next(struct event_queue *queue, struct queued_event *next);
void queued_event_free(struct queued_event *event);

bool event_queue_is_empty(const struct event_queue *queue);
/* Does an event of this process wait that happened after from_ns, and not after to_ns? */
bool event_queue_has_event(const struct event_queue *queue, pid_t pid, uint64_t from_ns, uint64_t to_ns);

void event_queue_free(struct event_queue *queue);

#endif
