/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unwinder consists of, for its own files. */
#ifndef EHPERF_KERNEL_UNWINDER_PARTS_H
#define EHPERF_KERNEL_UNWINDER_PARTS_H

#include "kernel/links.h"
#include "kernel/slab_maps.h"
#include "kernel/tasks.h"
#include "kernel/unwinder.h"
#include "process/perf_records.h"
#include "unwind/event_queue.h"
#include "unwind/processes.h"
#include "unwind/publisher.h"
#include "unwind/raw_samples.h"
#include "unwind/tables.h"

struct unwinder {
	struct unwinder_options options;
	/* the kernel's side */
	struct links links;
	const struct bpf_program *list_tasks;
	int procs_fd, changes_fd, listed_fd;
	struct bpf_slabs *source;
	/* what arrives */
	struct stack_store *store;
	struct perf_records *records; /* NULL: no user stacks are wanted */
	struct event_queue queue;
	uint64_t changes_lost; /* the kernel's counter, summed over the CPUs, when last read */
	/* what is known of processes, and what is made of that */
	struct processes processes;
	struct slabs *slabs;
	struct modules *modules;
	struct tables *tables;
	struct publisher *publisher;
	struct raw_samples raw_samples;
	struct host_stack stack; /* of the raw sample that is being unwound */
	/* a published process had an event since publisher_publish_changed() */
	bool published_changed;
	/*
	 * tables or readings for waiting samples have arrived since these were resumed; the ring
	 * buffer could not be drained in time
	 */
	bool resumable, behind;
	uint64_t give_back_ns; /* when unwinder_give_back() frees memory next */
	struct unwinder_counts counts;
};

/* Is it one of options.pids? */
bool unwinder_is_chosen(const struct unwinder *unwinder, pid_t pid);

/*
 * Asks for a reading of this user's process. Reads the count of changes before the mappings: a
 * change that happens in between makes the list stale, whether or not the mappings reflect it.
 */
int unwinder_ask(void *unwinder, struct process *process, uint32_t tgid, uint32_t uid);

/*
 * Takes the readings of processes that have arrived. for_samples: samples wait for them, and the
 * image must be the same. Returns the number of readings
 */
unsigned unwinder_take_readings(struct unwinder *unwinder, bool for_samples);

/* Now and then frees memory that is not needed any more; to be called often. */
void unwinder_give_back(struct unwinder *unwinder);

#endif
