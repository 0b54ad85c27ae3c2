/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds raw samples (records_abi.h). A process that is not known is read from /proc, and
 * published, so that the kernel unwinds its next samples. If a sample needs a table that is not
 * made yet, it can be kept until the table is made.
 *
 * Samples and process events must be handled in order of time (event_queue.h), so that the known
 * mappings are those of the moment of the sample.
 */
#ifndef EHPERF_UNWIND_RAW_SAMPLES_H
#define EHPERF_UNWIND_RAW_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/user_room.h"
#include "unwind/event_queue.h"
#include "unwind/foreign.h"
#include "unwind/host_unwind.h"
#include "unwind/processes.h"
#include "unwind/publisher.h"
#include "unwind/tables.h"

struct waiting_sample {
	struct raw_record *raw;
	/*
	 * it waits for the table of this module, with the process's list when the sample was taken
	 */
	uint32_t for_module;
	struct mapping_list list;
	/*
	 * for_module 0: it waits for its process to be read. The mappings' version when it was
	 * taken; 0: not known
	 */
	uint64_t version;
};

#define NR_CACHED_TEXTS 1024

/*
 * A cache of code that was read from files of processes that are gone: many of their stacks lead
 * through the same code, and reading it takes a worker's answer.
 */
struct text_cache {
	struct cached_text {
		uint32_t module_id; /* 0: none */
		uint32_t asked, nr; /* bytes */
		uint64_t offset, until_ns;
		uint8_t bytes[FOREIGN_TEXT_BYTES];
	} of[NR_CACHED_TEXTS];
};

/* The caller owns what the pointers point to. */
struct raw_samples {
	struct processes *processes;
	struct publisher *publisher;
	struct tables *tables;
	const struct event_queue *queue;
	/*
	 * Asks for a reading of this user's process (process_asked()), so that processes_read()
	 * follows. 0 or -errno
	 */
	int (*ask)(void *arg, struct process *process, uint32_t tgid, uint32_t uid);
	void *arg;
	uint32_t max_depth;
	/* private: samples that wait, in order of arrival */
	struct waiting_sample *waiting;
	size_t nr_waiting, room;
	struct user_room waiting_room; /* what they take */
	struct text_cache texts;
};

/*
 * Unwinds the sample into *stack; stack->id and stack->end are for the sample's key. 0, or
 * -EINPROGRESS: its process is being read, and it may be kept until that is done; or -ENOMEM
 */
int raw_samples_unwind(struct raw_samples *samples, const struct raw_record *raw,
		       struct host_stack *stack);

/* The stack without the process's mappings: the leaf's address. */
void raw_samples_leaf(struct raw_samples *samples, const struct raw_record *raw,
		      struct host_stack *stack);

/*
 * Keeps the sample that was unwound last, with its process's current mapping list, to be unwound
 * again: its walk came to code of a module whose table is being made (for_module, from
 * stack->wants_table), or its process is being read (for_module 0). false: too many samples wait,
 * or there is no memory; the sample is still the caller's.
 */
bool raw_samples_keep(struct raw_samples *samples, struct raw_record *raw, uint32_t for_module);
/* Notes the modules that stacks of waiting samples may name: used[ID] */
void raw_samples_note_modules(const struct raw_samples *samples, bool *used);

/* 0 or -errno; must not free raw */
typedef int raw_sample_fn(void *arg, struct raw_record *raw, const struct host_stack *stack);
/*
 * Unwinds the kept samples again, into *stack. A sample that waits for another table is kept again;
 * done() is called for the others. All events up to events_ns must be queued or applied: a sample
 * whose process was read later waits on. UINT64_MAX: no sample waits any longer. 0, or what done()
 * returned.
 */
int raw_samples_resume(struct raw_samples *samples, struct host_stack *stack, uint64_t events_ns,
		       raw_sample_fn *done, void *arg);
void raw_samples_free(struct raw_samples *samples);

#endif
