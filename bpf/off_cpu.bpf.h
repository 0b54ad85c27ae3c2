/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times of one off-CPU period, split at the wake-up: blocked up to it, waiting to run from then on. A thread that
 * leaves while it could still run (preempted, or yielding) waits from the start.
 *
 * For tp_btf/sched_switch and tp_btf/sched_wakeup. The kernel orders the three calls for a thread: one that
 * is leaving is woken only after its sched_switch. All times are bpf_ktime_get_ns().
 */
#ifndef EHPERF_OFF_CPU_BPF_H
#define EHPERF_OFF_CPU_BPF_H

#include "kernel.bpf.h"

struct off_cpu {
	__u64 left_ns;		/* 0: it is on the CPU, or left before it was measured */
	__u64 runnable_ns;	/* when it was woken; 0: it is still blocked */
};

/* By the arguments of sched_switch: a preempted thread may already have set its state for the sleep it was about to begin. */
static __always_inline bool leaves_runnable(bool preempt, __u32 prev_state)
{
	return preempt || prev_state == 0;
}

static __always_inline void off_cpu_leave(struct off_cpu *o, __u64 now_ns, bool runnable)
{
	o->left_ns = now_ns;
	o->runnable_ns = runnable ? now_ns : 0;
}

/* a thread may be woken while it runs, and twice */
static __always_inline void off_cpu_wake(struct off_cpu *o, __u64 now_ns)
{
	if (o->left_ns && !o->runnable_ns)
		o->runnable_ns = now_ns;
}

/* It runs again: the times of the period. False if the switch away was not seen. */
static __always_inline bool off_cpu_return(struct off_cpu *o, __u64 now_ns, __u64 *blocked_ns, __u64 *waited_ns)
{
	__u64 runnable_ns = o->runnable_ns ? o->runnable_ns : now_ns;	/* the wake-up was not seen */

	if (!o->left_ns)
		return false;
	/* the clocks of two CPUs */
	if (runnable_ns < o->left_ns)
		runnable_ns = o->left_ns;
	if (now_ns < runnable_ns)
		now_ns = runnable_ns;
	*blocked_ns = runnable_ns - o->left_ns;
	*waited_ns = now_ns - runnable_ns;
	o->left_ns = 0;
	return true;
}

#endif
