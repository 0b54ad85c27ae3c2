/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeds the unwinder in the kernel (bpf/unwind.bpf.h): which processes there are, what each has mapped,
 * and the tables of the files mapped; and unwinds what the kernel sends raw, because it had not been fed yet.
 *
 * A process is published when it is first sampled: its sample comes raw, with all that publishing takes.
 */
#ifndef EHPERF_BPF_UNWINDER_H
#define EHPERF_BPF_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/stack_store.h"
#include "unwind/modules.h"

struct bpf_object;

struct unwinder;

struct unwinder_options {
	bool user_stacks;	/* are wanted; else only the children are followed */
	bool all;		/* follow every process there is */
	const pid_t *pids;	/* or these, */
	size_t nr_pids;
	bool children;		/* and what they fork */
	uint32_t max_depth;
};

struct unwinder_counts {
	uint64_t processes, files_at_start;
	double read_s, compile_s, insert_s, publish_s;	/* what start took */
	uint64_t files, files_without_table, rows, table_bytes, slab_bytes;
	uint64_t events, publications, raw_samples;
	int deaf;		/* 0, or the errno why memory that is given up is not heard of */
	uint64_t unpublished;	/* publications for which there was no memory */
	uint64_t slab_waits;	/* publications that had to wait for a slab */
};

/*
 * For a loaded object that includes bpf/processes.bpf.h. Lists the tasks once, so that PIDs mean the
 * caller's from now on, and begins to follow processes. Stacks go to the store. 0 or -errno.
 */
int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules, struct stack_store *store,
		 const struct unwinder_options *options);
void unwinder_free(struct unwinder *unwinder);

/* Publishes the processes there are, the most recently used first, compiling on all CPUs. 0 or -errno */
int unwinder_start(struct unwinder *unwinder);

/* one more process to follow, from its exec on. 0 or -ENOMEM */
int unwinder_expect(struct unwinder *unwinder, pid_t pid);

/* fds for poll(): when one is readable, unwinder_follow() has something to do soon; it is to be called now and then anyway */
#define UNWINDER_FDS 3
void unwinder_fds(const struct unwinder *unwinder, int fds[UNWINDER_FDS]);

/*
 * Empties the ring buffer, hears what processes did, publishes, and unwinds raw samples. At the last
 * call, no program is attached any more and all that is left is to be done. 0 or -errno
 */
int unwinder_follow(struct unwinder *unwinder, bool last);

struct unwinder_counts unwinder_counts(const struct unwinder *unwinder);

#endif
