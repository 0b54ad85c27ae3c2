/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records and counters of timed calls. A call's key, which describes it, is the tool's own: in
 * the records it follows the struct, with its .comm set to the thread's.
 */
#ifndef EHPERF_TIMED_CALLS_ABI_H
#define EHPERF_TIMED_CALLS_ABI_H

#include <linux/types.h>

#define MAX_BLOCKED_STACKS 6 /* different kernel stacks that are kept of one call */

struct blocked_in {
	__u64 kernel_stack; /* id */
	__u64 ns;
};

/* A call that took longer than the tool's limit. The key follows. */
struct slow_call {
	__u64 ended_ns; /* CLOCK_MONOTONIC */
	__u64 latency_ns, blocked_ns, waiting_ns;
	__s64 result;
	__u64 user_stack; /* id, 0: none */
	__u32 user_end;   /* enum end_reason */
	__u32 tid;
	__u32 pad;
	__u32 nr_blocked;
	struct blocked_in blocked[MAX_BLOCKED_STACKS];
};
_Static_assert(sizeof(struct slow_call) == 160, "struct slow_call");

/* A call that has not returned. The key follows. */
struct call_in_flight {
	__u64 start_ns; /* CLOCK_MONOTONIC */
	__u32 tid;
	__u32 pad;
};
_Static_assert(sizeof(struct call_in_flight) == 16, "struct call_in_flight");

/* counters of one CPU, summed by user space; all are __u64 */
struct call_counts {
	__u64 entered; /* calls that are measured */
	__u64 unseen;  /* calls whose return was seen, but not their entry */
	/* entries without memory for a task storage, whose calls count as unseen later */
	__u64 no_memory;
	__u64 returns_unseen; /* calls whose return was not seen */
	__u64 preempted;      /* times that a call was preempted inside a map operation */
	__u64 died;           /* calls whose threads died inside them */
	__u64 slow_lost;      /* slow calls that the ring buffer refused */
	/* times that it is not known when a thread came back to the CPU within a call */
	__u64 ends_unseen;
	__u64 stacks_dropped; /* times that a call was blocked in one more stack than are kept */
};

#endif
