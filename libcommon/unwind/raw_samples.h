/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds raw samples (records_abi.h), which the kernel could not unwind because their process was not
 * published or its list was stale. A process that is not known is read from /proc, and published, so that the
 * kernel unwinds its next samples.
 *
 * Samples and process events must be handled in order of time (event_queue.h): then the known mappings are
 * those of the moment of the sample.
 */
#ifndef EHPERF_UNWIND_RAW_SAMPLES_H
#define EHPERF_UNWIND_RAW_SAMPLES_H

#include <stdint.h>
#include <sys/types.h>

#include "unwind/event_queue.h"
#include "unwind/host_unwind.h"
#include "unwind/processes.h"
#include "unwind/publisher.h"
#include "unwind/tables.h"

/* where current facts about processes come from: the kernel, or a test */
struct raw_samples_source {
	/* the process's current image. 0, or -errno if there is none */
	int (*image)(void *arg, pid_t pid, struct eh_image *image);
	/* the current mappings, with reading->changes from before they were read. 0 or -errno */
	int (*read)(void *arg, pid_t pid, uint32_t tgid, struct process_reading *reading);
	/* queues all events up to now. 0 or -errno */
	int (*drain)(void *arg);
	void *arg;
};

/* all pointers are the caller's */
struct raw_samples {
	struct processes *processes;
	struct publisher *publisher;
	struct tables *tables;
	const struct event_queue *queue;
	struct raw_samples_source source;
	uint32_t max_depth;
};

/*
 * Unwinds the sample into *stack; stack->id and stack->end are for the sample's key. 0, or a fatal -errno: no
 * memory, or source.drain()'s
 */
int raw_samples_unwind(struct raw_samples *samples, const struct raw_record *raw, struct host_stack *stack);

#endif
