/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times of one off-CPU period, split at the wake-up: blocked before it, waiting to run after
 * it. A thread that leaves the CPU runnable (preempted, or yielding) is waiting from the start.
 *
 * For tp_btf/sched_switch and tp_btf/sched_wakeup. The kernel orders these events for a thread: a
 * thread that leaves is woken only after its sched_switch. All times are bpf_ktime_get_ns() unless
 * stated otherwise.
 *
 * Some virtual machines' kernels do not report what an idle CPU does: neither that it wakes a
 * thread, nor that it switches to one. The scheduler keeps statistics of each thread by its own
 * clock, in sched_info. They are copied when a period begins, and tell later whether the thread has
 * come back, when, and how long it had waited to run. (Kernels without CONFIG_SCHED_INFO do not
 * have them; kernels without CONFIG_FAIR_GROUP_SCHED do not have the time of the return.)
 */
#ifndef EHPERF_OFF_CPU_BPF_H
#define EHPERF_OFF_CPU_BPF_H

#include "kernel.bpf.h"
#include "task.bpf.h"

struct off_cpu {
	/*
	 * The beginning of the unreported part of the period: left_ns, or the end of the last
	 * interval that reported a part of it. 0: no period is open. A program that reports a part
	 * changes this at once, so that no other program reports it, too.
	 */
	__u64 from_ns;
	__u64 left_ns;     /* when it left the CPU */
	__u64 runnable_ns; /* when it was woken; 0: still blocked, or that was not reported */
	/* by the scheduler's clock: */
	__u64 left_clock_ns; /* left_ns; 0: not known */
	__u64 arrival_ns;    /* when it had come to the CPU before it left */
	__u64 delays_ns;     /* how long it had waited to run until then, in all its life */
};

/*
 * The scheduler's clock, as of now in a program on sched_switch, for a task that leaves this CPU or
 * comes to it. 0: not known
 */
static __always_inline __u64 scheduler_clock(struct task_struct *task)
{
	return bpf_core_field_exists(struct cfs_rq, rq) ? untrusted(task)->se.cfs_rq->rq->clock : 0;
}

static __always_inline __u64 last_arrival(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.last_arrival) ? task->sched_info.last_arrival
								    : 0;
}

/* When a thread that waits to run began to; 0 if it does not wait */
static __always_inline __u64 last_queued(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.last_queued) ? task->sched_info.last_queued
								   : 0;
}

/*
 * How long the thread has waited to run in all its life, until now. clock_ns: scheduler_clock() if
 * it waits still, and this CPU is about to run it; else 0
 */
static __always_inline __u64 delays_until(struct task_struct *task, __u64 clock_ns)
{
	__u64 queued_ns = last_queued(task);

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return task->sched_info.run_delay +
	       (queued_ns && clock_ns > queued_ns ? clock_ns - queued_ns : 0);
}

/*
 * Does the thread leave the CPU runnable? By the arguments of sched_switch: a preempted thread
 * does, even if it had set its state already for a sleep that it was about to begin.
 */
static __always_inline bool leaves_runnable(bool preempt, __u32 prev_state)
{
	return preempt || prev_state == 0;
}

/* clock_ns: now_ns by the scheduler's clock; 0: not known */
static __always_inline void off_cpu_leave(struct off_cpu *o, struct task_struct *task, __u64 now_ns,
					  __u64 clock_ns, bool runnable)
{
	o->left_ns = now_ns;
	o->runnable_ns = runnable ? now_ns : 0;
	o->left_clock_ns = clock_ns;
	o->arrival_ns = last_arrival(task);
	o->delays_ns = delays_until(task, 0);
	barrier(); /* a program in an interrupt, or on another CPU, finds no period, or all of it */
	o->from_ns = now_ns;
}

/*
 * Is a period open although the thread has come back to the CPU, which the kernel did not report?
 */
static __always_inline bool off_cpu_returned_unseen(const struct off_cpu *o,
						    struct task_struct *task)
{
	return o->from_ns && o->arrival_ns != last_arrival(task);
}

/* When that was; 0: not known */
static __always_inline __u64 off_cpu_unseen_return(const struct off_cpu *o,
						   struct task_struct *task, __u64 now_ns)
{
	__u64 back_clock_ns = last_arrival(task), back_ns;

	if (!o->left_clock_ns || back_clock_ns < o->left_clock_ns)
		return 0;
	back_ns = o->left_ns + (back_clock_ns - o->left_clock_ns);
	return back_ns < now_ns ? back_ns : now_ns;
}

/* A thread may be woken while it runs, and more than once. True: this ended its being blocked */
static __always_inline bool off_cpu_wake(struct off_cpu *o, struct task_struct *task, __u64 now_ns)
{
	if (!o->from_ns || o->runnable_ns || off_cpu_returned_unseen(o, task))
		return false;
	o->runnable_ns = now_ns;
	return true;
}

/* Closes the period. The return value is its from_ns: 0 if none is open */
static __always_inline __u64 off_cpu_close(struct off_cpu *o)
{
	return __sync_lock_test_and_set(&o->from_ns, 0);
}

/*
 * The times of the period's part from from_ns until until_ns. delays_ns: delays_until() then. The
 * clocks of two CPUs may differ a little.
 */
static __always_inline void off_cpu_part(const struct off_cpu *o, __u64 from_ns, __u64 until_ns,
					 __u64 delays_ns, __u64 *blocked_ns, __u64 *waited_ns)
{
	__u64 runnable_ns = o->runnable_ns;

	if (until_ns < from_ns)
		until_ns = from_ns;
	if (!runnable_ns) /* the wake-up was not seen */
		runnable_ns =
			delays_ns > o->delays_ns ? until_ns - (delays_ns - o->delays_ns) : until_ns;
	if (runnable_ns < from_ns)
		runnable_ns = from_ns;
	if (runnable_ns > until_ns)
		runnable_ns = until_ns;
	*blocked_ns = runnable_ns - from_ns;
	*waited_ns = until_ns - runnable_ns;
}

/*
 * The thread runs again: closes the period and returns its times. delays_ns: delays_until() at its
 * return. False if no period is open.
 */
static __always_inline bool off_cpu_return(struct off_cpu *o, __u64 now_ns, __u64 delays_ns,
					   __u64 *blocked_ns, __u64 *waited_ns)
{
	__u64 from_ns = off_cpu_close(o);

	if (from_ns)
		off_cpu_part(o, from_ns, now_ns, delays_ns, blocked_ns, waited_ns);
	return from_ns;
}

#endif
