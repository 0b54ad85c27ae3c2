/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums up off-CPU periods of a wanted length, by thread, state, stacks and waker. A period that is
 * open when an interval ends is reported in parts, one for each interval. It is counted once, with
 * its last part.
 */
#ifndef EHPERF_OFF_CPU_SUMS_BPF_H
#define EHPERF_OFF_CPU_SUMS_BPF_H

#include "off_cpu_periods.bpf.h"
#include "stacks.bpf.h"

/* set before loading */
const volatile __u64 min_ns = 0, max_ns = ~0ULL;
/* the parts of a period that count */
const volatile bool count_blocked = true, count_waiting = true;

static __always_inline bool period_counts(const struct stack_value *value)
{
	__u64 ns =
		(count_blocked ? value->blocked_ns : 0) + (count_waiting ? value->waiting_ns : 0);

	return (ns || (count_blocked && count_waiting)) && ns >= min_ns && ns <= max_ns;
}

static __always_inline void period_ended(struct thread *thread, struct stack_key *key,
					 __u64 left_ns, const struct stack_value *value,
					 struct stack_stats *stats)
{
	/* 6.1 takes no key of a map from a global function's argument */
	struct stack_key of = *key;

	add_value(&of, value, stats);
}

static __always_inline bool thread_fits(struct thread *thread, struct task_struct *task,
					__u64 now_ns)
{
	return task_fits(task);
}

static __always_inline void thread_ended(struct thread *thread, struct task_struct *task,
					 __u64 now_ns)
{
}

/* ---- periods that are open when an interval or the measurement ends ---- */

__u64 interval_ended_ns SEC(".data.interval"); /* set by user space */

/*
 * Outputs what is not told of the thread's open period as a value_record. count: 1 if that is all
 * of it
 */
static __always_inline void report_period(struct seq_file *seq, struct task_struct *task,
					  struct thread *thread, __u64 until_ns, __u64 count)
{
	struct value_record record = { .kind = RECORD_VALUE };
	struct period *period = current_period(thread);
	__u64 from_ns = period->off.from_ns;
	struct off_cpu off;

	if (!from_ns || from_ns >= until_ns)
		return;
	barrier();
	off = period->off;
	record.key = period->key;
	record.key.flags |= STACK_OPEN;
	if (!take_part(&off, from_ns, until_ns, delays_at(&off, task, until_ns), &record.value))
		return;
	record.value.count = count;
	/*
	 * if the buffer is full, this is called again for this task. If it has come back meanwhile,
	 * that has told it
	 */
	if (seq->count + sizeof(record) < seq->size &&
	    __sync_val_compare_and_swap(&period->off.from_ns, from_ns, until_ns) != from_ns)
		return;
	bpf_seq_write(seq, &record, sizeof(record));
}

/*
 * Reports open periods at the end of an interval. Not with a maximum length: whether a period
 * counts is not known before it ends. A thread that has come back unseen reports its period when it
 * leaves.
 */
SEC("iter/task")
int report_periods(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;

	if (thread && max_ns == ~0ULL &&
	    !off_cpu_returned_unseen(&current_period(thread)->off, task))
		report_period(ctx->meta->seq, task, thread, interval_ended_ns, 0);
	return 0;
}

/* Ends the measurement, and all open periods. */
SEC("iter/task")
int end_periods(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread;

	if (!ended_ns)
		ended_ns = bpf_ktime_get_ns();
	thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
	if (!thread)
		return 0;
	end_unseen(thread, task, ended_ns);
	report_period(ctx->meta->seq, task, thread, ended_ns, 1);
	return 0;
}

#endif
