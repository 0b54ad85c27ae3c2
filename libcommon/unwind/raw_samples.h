/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds raw samples (records_abi.h): those that the kernel could not unwind, because their process was not published
 * or had changed. The process is read if it is not known, and published, so that its next samples need not come raw.
 *
 * Samples are to be handled in the order of time, between the events of processes (event_queue.h): then what is known
 * of a process is how it was when the sample was taken.
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

/* what is asked of the kernel */
struct raw_samples_source {
	/* the image of the process as it is now. 0, or -errno where there is none */
	int (*image)(void *arg, pid_t pid, struct eh_image *image);
	/* the mappings of the process as they are now, and the changes before. 0, or -errno where they cannot be read */
	int (*read)(void *arg, pid_t pid, uint32_t tgid, struct process_reading *reading);
	/* queues what has happened up to now. 0 or -errno */
	int (*drain)(void *arg);
	void *arg;
};

/* all of them the caller's */
struct raw_samples {
	struct processes *processes;
	struct publisher *publisher;
	struct tables *tables;
	const struct event_queue *queue;
	struct raw_samples_source source;
	uint32_t max_depth;
};

/*
 * *stack is what could be unwound, with stack->id and stack->end for the sample's key. 0, or -errno where nothing can
 * go on: no memory, or what source.drain() returned
 */
int raw_samples_unwind(struct raw_samples *samples, const struct raw_record *raw, struct host_stack *stack);

#endif
