/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times of one off-CPU period, split at the wake-up: blocked before it, waiting to run after it. A thread
 * that leaves the CPU runnable (preempted, or yielding) is waiting from the start.
 *
 * For tp_btf/sched_switch and tp_btf/sched_wakeup. The kernel orders these events for a thread: a thread that
 * leaves is woken only after its sched_switch. All times are bpf_ktime_get_ns().
 */
#ifndef EHPERF_OFF_CPU_BPF_H
#define EHPERF_OFF_CPU_BPF_H

#include "kernel.bpf.h"

struct off_cpu {
	__u64 left_ns;		/* when it left the CPU; 0: no period is open */
	__u64 runnable_ns;	/* when it was woken; 0: still blocked */
};

/*
 * Does the thread leave the CPU runnable? By the arguments of sched_switch: a preempted thread does, even if
 * it had set its state already for a sleep that it was about to begin.
 */
static __always_inline bool leaves_runnable(bool preempt, __u32 prev_state)
{
	return preempt || prev_state == 0;
}

static __always_inline void off_cpu_leave(struct off_cpu *o, __u64 now_ns, bool runnable)
{
	o->left_ns = now_ns;
	o->runnable_ns = runnable ? now_ns : 0;
}

/* A thread may be woken while it runs, and more than once. True: this ended its being blocked */
static __always_inline bool off_cpu_wake(struct off_cpu *o, __u64 now_ns)
{
	if (!o->left_ns || o->runnable_ns)
		return false;
	o->runnable_ns = now_ns;
	return true;
}

/* The thread runs again: closes the period and returns its times. False if no period is open. */
static __always_inline bool off_cpu_return(struct off_cpu *o, __u64 now_ns, __u64 *blocked_ns,
					   __u64 *waited_ns)
{
	__u64 runnable_ns = o->runnable_ns ? o->runnable_ns : now_ns;	/* the wake-up was not seen */

	if (!o->left_ns)
		return false;
	/* the clocks of two CPUs may differ a little */
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
