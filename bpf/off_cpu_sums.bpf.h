/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up off-CPU periods by thread, state, stacks and waker: those of a wanted length. */
#ifndef EHPERF_OFF_CPU_SUMS_BPF_H
#define EHPERF_OFF_CPU_SUMS_BPF_H

#include "off_cpu_periods.bpf.h"
#include "stacks.bpf.h"

/* set before loading */
const volatile __u64 min_ns = 0, max_ns = ~0ULL;
const volatile bool count_blocked = true, count_waiting = true;	/* the parts of a period that count */

static __always_inline bool period_counts(const struct stack_value *value)
{
	__u64 ns = (count_blocked ? value->blocked_ns : 0) + (count_waiting ? value->waiting_ns : 0);

	return (ns || (count_blocked && count_waiting)) && ns >= min_ns && ns <= max_ns;
}

static __always_inline void period_ended(struct thread *thread, struct stack_key *key, __u64 left_ns,
					 const struct stack_value *value, struct stack_stats *stats)
{
	struct stack_key of = *key;	/* 6.1 takes no key of a map from a global function's argument */

	add_value(&of, value, stats);
}

static __always_inline void thread_started(struct task_struct *task, __u64 now_ns)
{
}

static __always_inline void thread_ended(struct thread *thread, struct task_struct *task, __u64 now_ns)
{
}

#endif
