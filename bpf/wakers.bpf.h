/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wakers of the off-CPU periods of bpf/off_cpu_periods.bpf.h: the thread that wakes the blocked
 * thread, with its own stacks at that moment, or an interrupt. Each waker is sent once, as a
 * key_record, whose ID is in stack_key.waker of the periods that it ends. The tool also attaches
 * thread_waking.
 *
 * sched_waking is hit in the waker, sched_wakeup often on the CPU of the woken thread. The waker is
 * taken in sched_waking, and is assigned to the period in sched_wakeup (or, if that is not
 * reported, at the end of the period). Only then has the period surely begun: sched_waking may be
 * hit before the sched_switch of a thread that is just leaving the CPU. A thread that is woken
 * before it has left the CPU does not leave it, and sched_wakeup forgets its waker.
 */
#ifndef EHPERF_WAKERS_BPF_H
#define EHPERF_WAKERS_BPF_H

#include "kernel.bpf.h"
#include "kernel_walk.bpf.h"
#include "off_cpu_periods.bpf.h"
#include "stacks.bpf.h"
#include "task.bpf.h"

/* a search for the frame of an interrupt's entry, for bpf_loop() */
struct entry_search {
	struct kernel_stack *k;
	__u32 nr; /* of the frames from the leaf up to it; 0: not found */
};

static long search_entry(__u32 i, struct entry_search *search)
{
	struct kernel_stack *k = search->k;

	if (i >= MAX_KERNEL_DEPTH || i >= k->stack.nr_frames)
		return 1;
	if (enters_interrupt(k->frames[i]))
		search->nr = i + 1;
	return search->nr != 0;
}

/*
 * Finds the waker by the stack: if it contains the entry of an interrupt, the waker is the
 * interrupt, with its part of the stack, and not the interrupted thread. For a softirq that a
 * thread's own system call runs, such as the loopback's, the waker is that thread. True: a thread,
 * whose kernel stack is in key->kernel_stack
 */
static __always_inline bool take_kernel_stack(void *ctx, struct task_struct *running,
					      struct stack_key *key, struct stack_stats *stats)
{
	__u32 zero = 0;
	struct kernel_stack *k = bpf_map_lookup_elem(&kernel_stacks, &zero);
	struct entry_search search = { .k = k };
	long bytes;

	key->kernel_stack = send_walked(START_AT_WAKING, ctx, running, stats);
	if (key->kernel_stack || !k)
		return true;
	bytes = get_stack_from(START_AT_WAKING, ctx, k);
	k->stack.nr_frames = bytes > 0 ? (__u64)bytes / 8 : 0;
	bpf_loop(MAX_KERNEL_DEPTH, search_entry, &search, 0);
	k->stack.uid = task_uid(running);
	if (search.nr)
		key->kernel_stack = CALL(send_kernel_frames, k, search.nr * 8, stats);
	else
		key->kernel_stack = send_unwound(START_AT_WAKING, k, bytes, stats);
	return !search.nr;
}

static __always_inline void take_thread(struct task_struct *task, struct stack_key *key,
					struct stack_stats *stats)
{
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);

	key->pid = task_user_pid(task);
	key->tid = task_user_tid(task);
	key->uid = task_uid(task);
	if (task->flags & PF_KTHREAD)
		key->flags |= STACK_KERNEL_THREAD;
	bpf_probe_read_kernel(key->comm, sizeof(key->comm), task->comm);
	if (u)
		take_user_stack(u, task, key, stats);
}

ONE_PER_CPU(struct stack_key) wakers SEC(".maps");

/* Whoever runs on this CPU: the ID, or with keys_apart the number, of its key_record. */
static __always_inline __u64 take_waker(void *ctx, struct stack_stats *stats)
{
	struct task_struct *running = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct stack_key *key = bpf_map_lookup_elem(&wakers, &zero);

	if (!key)
		return 0;
	__builtin_memset(key, 0, sizeof(*key));
	key->flags = STACK_SENT_APART;
	key->end = END_NOT_TAKEN;
	/* the idle task itself wakes no thread */
	if (take_kernel_stack(ctx, running, key, stats) && running->pid)
		take_thread(running, key, stats);
	else
		key->flags |= STACK_INTERRUPT;
	if (!with_kernel_stacks)
		key->kernel_stack = 0;
	return keys_apart ? number_key(key, stats) : send_key(key, stats);
}

/* Is the thread known to be runnable, such as one that was preempted before it slept? */
static __always_inline bool is_runnable(const struct off_cpu *off)
{
	return off->from_ns && off->runnable_ns;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(thread_waking, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	struct stack_stats *stats = own_stats();
	__u64 waker;

	/* one that wakes itself has not slept; and interrupts, with samples, are on */
	if (!thread || !stats || ended_ns || task == bpf_get_current_task_btf() ||
	    (is_runnable(&thread->period.off) &&
	     !off_cpu_returned_unseen(&thread->period.off, task)))
		return 0;
	waker = take_waker(ctx, stats);
	/*
	 * asked once more: while the waker's stacks were taken, the thread may have left the CPU
	 * again on its own
	 */
	if (off_cpu_returned_unseen(&thread->period.off, task))
		thread->next_waker = waker;
	else
		thread->waker = waker;
	return 0;
}

#endif
