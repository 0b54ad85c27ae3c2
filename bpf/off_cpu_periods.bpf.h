/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU periods: from the switch away from a thread to the switch back to it, each with the
 * stacks that the thread left the CPU with, and split at the wake-up (off_cpu.bpf.h).
 *
 * This header has the programs on the scheduler's tracepoints, which the tool attaches, and the
 * task iterators by which libcommon/kernel/off_cpu.c begins periods of threads that are off the CPU
 * already. The includer has an iterator that ends those that are still open, and defines what to do
 * with a period that ends, as __always_inline functions:
 *
 *   bool period_counts(const struct stack_value *value);
 *     false: the period is filtered out. Not called for a period of which a part was reported
 *   void period_ended(struct thread *thread, struct stack_key *key, __u64 left_ns,
 *                     const struct stack_value *value, struct stack_stats *stats);
 *   bool thread_fits(struct thread *thread, struct task_struct *task, __u64 now_ns);
 *     task_fits(), of a thread that begins a period, or to be measured
 *   void thread_ended(struct thread *thread, struct task_struct *task, __u64 now_ns);
 *     one that leaves the CPU for the last time
 *
 * Every measured thread has a task storage, which is created with the thread, or by the iterator.
 * So one lookup says whether a thread is measured, and no storage is created while the scheduler's
 * locks are held.
 */
#ifndef EHPERF_OFF_CPU_PERIODS_BPF_H
#define EHPERF_OFF_CPU_PERIODS_BPF_H

#include "kernel_walk.bpf.h"
#include "off_cpu.bpf.h"
#include "off_cpu_abi.h"
#include "processes.bpf.h"
#include "stacks.bpf.h"
#include "task.bpf.h"
#include "unwind.bpf.h"

#define TASK_INTERRUPTIBLE 0x001
#define TASK_STOPPED       0x004
#define TASK_TRACED        0x008
#define TASK_PARKED        0x040
#define TASK_DEAD          0x080
#define TASK_NOLOAD        0x400
#define TASK_NEW           0x800

/* filters, of user and of kernel threads: 1 << enum thread_state; set before loading */
const volatile __u32 wanted_states = ~0U, wanted_kernel_states = ~0U;

/* ---- periods ---- */

__u64 ended_ns; /* when the measurement ended; 0: it has not */
/*
 * bpf_ktime_get_ns() less the scheduler's clock, for where a CPU's own is not at hand; 0: not known
 * yet
 */
__u64 clock_lead;

struct period {
	struct off_cpu off;
	struct stack_key key;
};

/*
 * If a thread left the CPU before the programs were attached, the iterator begin_periods writes its
 * first period into .first, while the thread may be switched in on another CPU. Whichever of the
 * two sets .seen first decides: BEGUN makes .first the thread's period, SEEN (a switch of this
 * thread was seen) discards it.
 */
enum { NOT_SEEN, BEGUN, SEEN };
struct thread {
	struct period period, first;
	__u64 waker; /* wakers.bpf.h: the thread that is just waking it up; 0: none */
	/* the waker of its next period, while its return from the last one is not known yet */
	__u64 next_waker;
	__u32 seen;
	__u32 nr_ended; /* periods, for includers that count them */
	__u32 told;     /* for includers that send records of threads: which of them were sent */
	/* with keys_apart: */
	struct run {
		__u64 from_ns;    /* 0: not known */
		__u64 account_ns; /* how long it had run by then, by the scheduler's account */
	} run;
	/*
	 * of the last run: by how much the scheduler has counted too little of it; less than 0: too
	 * much
	 */
	__s64 taken_ns;
	__u64 first_account_ns; /* run.account_ns, if .first becomes the thread's period */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline bool period_counts(const struct stack_value *value);
static __always_inline void period_ended(struct thread *thread, struct stack_key *key,
					 __u64 left_ns, const struct stack_value *value,
					 struct stack_stats *stats);
static __always_inline bool thread_fits(struct thread *thread, struct task_struct *task,
					__u64 now_ns);
static __always_inline void thread_ended(struct thread *thread, struct task_struct *task,
					 __u64 now_ns);

static __always_inline __u32 state_of(__u32 state)
{
	__u32 found = THREAD_UNINTERRUPTIBLE; /* also frozen, and waiting for an rtlock */

	if (!state)
		found = THREAD_RUNNABLE;
	else if (state & TASK_INTERRUPTIBLE)
		found = THREAD_SLEEPING;
	else if (state & TASK_STOPPED)
		found = THREAD_STOPPED;
	else if (state & TASK_TRACED)
		found = THREAD_TRACED;
	else if (state & TASK_PARKED)
		found = THREAD_PARKED;
	else if (state & TASK_NOLOAD)
		found = THREAD_IDLE;
	barrier_var(found); /* so that the verifier does not follow a path for each state */
	return found;
}

static __always_inline bool state_wanted(struct task_struct *task, __u32 state)
{
	return (task->flags & PF_KTHREAD ? wanted_kernel_states : wanted_states) >> state & 1;
}

static __always_inline void name_thread(struct stack_key *key, struct task_struct *task,
					__u32 state)
{
	key->user_stack = key->kernel_stack = key->waker = 0;
	key->pid = task_user_pid(task);
	key->tid = task_user_tid(task);
	key->uid = task_uid(task);
	key->end = END_NOT_TAKEN;
	key->flags = state << STACK_STATE_SHIFT | (keys_apart ? STACK_SENT_APART : 0);
	if (task->flags & PF_KTHREAD)
		key->flags |= STACK_KERNEL_THREAD;
	bpf_probe_read_kernel(key->comm, sizeof(key->comm), task->comm);
}

/* The part of the period from from_ns on. False: the period is filtered out */
static __always_inline bool take_part(const struct off_cpu *off, __u64 from_ns, __u64 until_ns,
				      __u64 delays_ns, struct stack_value *value)
{
	value->count = 1;
	off_cpu_part(off, from_ns, until_ns, delays_ns, &value->blocked_ns, &value->waiting_ns);
	return from_ns != off->left_ns || period_counts(value);
}

/*
 * Closes the period and returns what was not sent of it yet. False: none is open, or it is filtered
 * out
 */
static __always_inline bool end_period(struct off_cpu *off, __u64 now_ns, __u64 delays_ns,
				       struct stack_value *value)
{
	__u64 from_ns = off_cpu_close(off);

	return from_ns && take_part(off, from_ns, now_ns, delays_ns, value);
}

/*
 * Where a run begins and ends by the scheduler's account is not where the tracepoint is hit: its
 * clock was read before, often at the wake-up, and does not tick while the hypervisor (or, with
 * CONFIG_IRQ_TIME_ACCOUNTING, an interrupt) has the CPU. The account of a thread that is off the
 * CPU is complete.
 */
static __always_inline void begin_run(struct thread *thread, struct task_struct *task, __u64 now_ns)
{
	if (!keys_apart)
		return;
	thread->run.from_ns = now_ns;
	thread->run.account_ns = task->se.sum_exec_runtime;
}

static __always_inline __s64 taken_of(const struct run *run, struct task_struct *task, __u64 now_ns)
{
	return run->from_ns ? now_ns - run->from_ns - (task->se.sum_exec_runtime - run->account_ns)
			    : 0;
}

static __always_inline void end_run(struct thread *thread, struct task_struct *task, __u64 now_ns)
{
	if (!keys_apart)
		return;
	thread->taken_ns = taken_of(&thread->run, task, now_ns);
	thread->run.from_ns = 0;
	thread->run.account_ns = task->se.sum_exec_runtime; /* so it stays until the next run */
}

/* ---- threads leave, wake up and come back ---- */

/* clock_ns: now_ns by the scheduler's clock; 0: not known */
static __always_inline void leave(void *ctx, struct task_struct *task, struct thread *thread,
				  __u64 now_ns, __u64 clock_ns, __u32 task_state)
{
	__u32 state = state_of(task_state);
	struct stack_key *key = &thread->period.key;
	struct stack_stats *counts = own_stats();
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);

	thread->seen = SEEN;
	if (!counts || !u || task->flags & PF_IDLE || !state_wanted(task, state) ||
	    !thread_fits(thread, task, now_ns) || !cpu_wanted(bpf_get_smp_processor_id()))
		return;
	name_thread(key, task, state);
	if (ctx && with_kernel_stacks)
		key->kernel_stack = send_schedule_stack(ctx, task, counts);
	take_user_stack(u, task, key, counts);
	/*
	 * read the state from the key: kept in a register till here, it costs the verifier ten
	 * times the work
	 */
	off_cpu_leave(&thread->period.off, task, now_ns, clock_ns,
		      STACK_STATE(key->flags) == THREAD_RUNNABLE);
}

/* The period is filtered out: user space need not keep its stack. */
static __always_inline void forget_stack(const struct stack_key *key)
{
	struct stack_value none = {};

	if (key->flags & STACK_PENDING && !keys_apart)
		CALL(send_value, key, &none);
}

/* delays_ns: delays_until(), here and below */
VERIFIED_ONCE int come_back(struct thread *thread, __u64 now_ns, __u64 delays_ns)
{
	struct stack_stats *counts = own_stats();
	struct stack_value value;
	struct period *period;
	__u64 left_ns;
	bool is_open;

	if (!thread)
		return 0;
	period = &thread->period;
	if (thread->seen != SEEN && __sync_lock_test_and_set(&thread->seen, SEEN) == BEGUN)
		period = &thread->first;
	left_ns = period->off.left_ns;
	if (!period->off.runnable_ns)
		/* who woke it was reported before the wake-up itself */
		period->key.waker = thread->waker;
	thread->waker = 0;
	is_open = period->off.from_ns;
	if (counts && end_period(&period->off, now_ns, delays_ns, &value))
		period_ended(thread, &period->key, left_ns, &value, counts);
	else if (is_open)
		forget_stack(&period->key);
	return 0;
}

static __always_inline struct period *current_period(struct thread *thread)
{
	return thread->seen == BEGUN ? &thread->first : &thread->period;
}

/* When the thread came back, which was not reported, is not known: its period is lost. */
static __always_inline void lose_period(struct thread *thread, struct period *period)
{
	struct stack_stats *stats = own_stats();

	if (period->off.from_ns)
		forget_stack(&period->key);
	period->off.from_ns = 0;
	thread->seen = SEEN;
	thread->nr_ended++;
	if (stats)
		stats->returns_missed++;
}

/*
 * Ends the thread's period if the thread has come back to the CPU, and the kernel did not report
 * that. At the end of the measurement, a return counts only if it is known when it was, and that
 * was before the end.
 */
static __always_inline void end_unseen(struct thread *thread, struct task_struct *task,
				       __u64 now_ns)
{
	struct period *period = current_period(thread);
	__u64 back_ns;

	if (!off_cpu_returned_unseen(&period->off, task))
		return;
	if (!period->off.left_clock_ns && clock_lead) /* it was begun before any switch was seen */
		period->off.left_clock_ns = period->off.left_ns - clock_lead;
	back_ns = off_cpu_unseen_return(&period->off, task, now_ns);
	if (ended_ns && (!back_ns || back_ns >= ended_ns))
		return;
	if (!back_ns) {
		lose_period(thread, period);
		return;
	}
	if (thread->seen == BEGUN)
		thread->run.account_ns = thread->first_account_ns;
	CALL(come_back, thread, back_ns, delays_until(task, 0));
	thread->waker = thread->next_waker;
	thread->next_waker = 0;
	if (keys_apart)
		thread->run.from_ns = back_ns;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switches, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread *leaves = bpf_task_storage_get(&threads, prev, NULL, 0);
	struct thread *returns = bpf_task_storage_get(&threads, next, NULL, 0);
	struct period *period;
	__u64 now_ns, clock_ns;

	if (ended_ns)
		return 0;
	if (!leaves) {
		/*
		 * else the compiler tests both pointers with one `or`, which the verifier refuses
		 */
		barrier_var(leaves);
		if (!returns)
			return 0;
	}
	now_ns = bpf_ktime_get_ns();
	clock_ns = scheduler_clock(leaves ? prev : next); /* not of the idle task */
	if (!clock_lead && clock_ns)
		clock_lead = now_ns - clock_ns;
	if (returns) {
		CALL(come_back, returns, now_ns, delays_until(next, clock_ns));
		begin_run(returns, next, now_ns);
	}
	if (leaves) {
		end_unseen(leaves, prev, now_ns);
		period = current_period(leaves);
		if (period->off.from_ns) /* it has come back, and nothing tells when */
			lose_period(leaves, period);
		end_run(leaves, prev, now_ns);
	}
	if (leaves && prev_state & TASK_DEAD)
		thread_ended(leaves, prev, now_ns);
	else if (leaves) /* .__state 0: a signal was pending, and it has not left the queue */
		leave(ctx, prev, leaves, now_ns, clock_ns,
		      leaves_runnable(preempt, prev_state) || !prev->__state ? 0 : prev_state);
	return 0;
}

static __always_inline void wake(struct period *period, struct task_struct *task, __u64 now_ns,
				 __u64 waker)
{
	if (off_cpu_wake(&period->off, task, now_ns))
		period->key.waker = waker;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(thread_wakes, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	__u64 now_ns;

	if (!thread || ended_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	wake(&thread->period, task, now_ns, thread->waker);
	if (thread->seen != SEEN)
		wake(&thread->first, task, now_ns, thread->waker);
	thread->waker = thread->next_waker = 0;
	return 0;
}

/* ---- which threads are measured ---- */

static __always_inline bool is_measured(struct task_struct *task)
{
	return !is_own(task) && task_wanted(task, task_user_pid(task), task_user_tid(task));
}

static __always_inline void begin_thread(struct task_struct *child)
{
	struct stack_stats *counts = own_stats();

	if (!ended_ns && is_measured(child) &&
	    !bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) && counts)
		counts->forks_lost++;
}

/* After this, the child of a process that is followed is listed. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_begins, struct task_struct *parent, struct task_struct *child)
{
	begin_thread(child);
	return 0;
}

/* The kernel makes workers of io_uring and vhost without a fork. */
SEC("tp_btf/task_newtask")
int BPF_PROG(worker_begins, struct task_struct *child)
{
	begin_thread(child);
	return 0;
}

/* The command's process begins to be measured. Its thread is older, and was not listed then. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(command_begins, struct task_struct *task)
{
	struct stack_stats *counts = own_stats();
	struct thread *thread;
	/* before an interrupt finds the storage, and takes a sample */
	__u64 now_ns = bpf_ktime_get_ns();

	if (!follow_forks || ended_ns || !is_measured(task) ||
	    bpf_task_storage_get(&threads, task, NULL, 0))
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread_fits(thread, task, now_ns);
	else if (counts)
		counts->forks_lost++;
	return 0;
}

/*
 * A new thread waits to run for the first time. Its registers are set up, and its stack can be read
 * here, in its parent, at the same address.
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(thread_starts, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	__u64 now_ns = bpf_ktime_get_ns();

	if (!thread || ended_ns)
		return 0;
	leave(NULL, task, thread, now_ns, last_queued(task), 0);
	return 0;
}

/* ---- threads off the CPU when the measurement begins, and when it ends ---- */

__u64 begun_tokens;

/*
 * Scratch memory of the iterators, which can be preempted: per-CPU memory could be used by others
 * at the same time.
 */
struct begun {
	struct user_walk u;
	struct kernel_walk walk;
	struct kernel_stack kernel;
	struct raw_record raw;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct begun);
} scratch SEC(".maps");

/* The stack of a task off the CPU, as it was when the task left it: see send_schedule_stack(). */
static __always_inline __u64 send_left_stack(struct begun *b, struct task_struct *task,
					     struct stack_stats *counts)
{
	long bytes = bpf_get_task_stack(task, b->kernel.frames, MAX_KERNEL_DEPTH * 8, 0);
	__u32 nr, i;

	if (bytes < 8)
		return 0;
	b->walk.from = KERNEL_SP(task);
	b->walk.top = (__u64)bpf_task_pt_regs(task);
	barrier(); /* as in send_walked() */
	nr = MASKED(CALL(walk_scheduler, &b->walk, b->kernel.frames[0]), MAX_SCHEDULER_FRAMES - 1);
	if (nr) {
		bytes = bpf_get_task_stack(task, b->kernel.frames + nr,
					   (MAX_KERNEL_DEPTH - MAX_SCHEDULER_FRAMES) * 8, 0);
		if (bytes < 8)
			return 0;
		bytes += nr * 8;
		UNROLL
		for (i = 0; i < MAX_SCHEDULER_FRAMES; i++)
			if (i < nr)
				b->kernel.frames[i] = b->walk.stack.frames[i];
		/* it calls the tracepoint, and then __switch_to_asm() */
		if (starts[START_AT_SWITCH].ip)
			b->kernel.frames[0] = starts[START_AT_SWITCH].ip;
	}
	b->kernel.stack.uid = task_uid(task);
	return CALL(send_kernel_frames, &b->kernel, bytes, counts);
}

struct periods_begin periods_begin SEC(".data.begin") = {};

/*
 * To be run with only_create first: it creates the task storages, so that every switch is seen from
 * then on. Then it begins a period for each thread that is off the CPU and was not seen leaving it,
 * and outputs a raw_record with the thread's registers, to which user space adds the stack.
 */
SEC("iter/task")
int begin_periods(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack_stats *counts = own_stats();
	__u32 zero = 0, state;
	struct begun *b = bpf_map_lookup_elem(&scratch, &zero);
	struct stack_value later = {};
	struct thread *thread;
	struct period *first;
	__u64 token, now_ns;

	if (!task || !b || !counts || !is_measured(task))
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		if (periods_begin.only_create)
			__sync_fetch_and_add(&periods_begin.not_created, 1);
		else
			__sync_fetch_and_add(&counts->forks_lost, 1);
		return 0;
	}
	if (periods_begin.only_create)
		return 0;
	state = task->__state;
	if (thread->seen != NOT_SEEN || SIGNED_FIELD(task, on_cpu) ||
	    SIGNED_FIELD(task, exit_state) || state & (TASK_DEAD | TASK_NEW) ||
	    !state_wanted(task, state_of(state)) || !cpu_wanted(task->thread_info.cpu) ||
	    !task_fits(task))
		return 0;
	first = &thread->first;
	name_thread(&first->key, task, state_of(state));
	if (with_kernel_stacks)
		first->key.kernel_stack = send_left_stack(b, task, counts);
	if (with_user_stacks && !has_user_stack(task)) {
		first->key.end = END_NO_USER;
	} else if (with_user_stacks) {
		token = 1ULL << 63 | __sync_fetch_and_add(&begun_tokens, 1);
		first->key.flags |= STACK_PENDING;
		first->key.user_stack = token;
		fill_raw(&b->raw, &b->u, task, &first->key, &later, token);
		first->key.end = END_COMPLETE;
		if (bpf_seq_write(ctx->meta->seq, &b->raw, sizeof(b->raw)))
			return 0; /* the buffer is full: called again for this task */
	}
	now_ns = bpf_ktime_get_ns();
	off_cpu_leave(&first->off, task, now_ns, clock_lead ? now_ns - clock_lead : 0, !state);
	/* woken before the period was begun, so that thread_wakes had none to mark */
	if (!task->__state)
		off_cpu_wake(&first->off, task, first->off.left_ns);
	thread->first_account_ns = task->se.sum_exec_runtime;
	if (SIGNED_FIELD(task, on_cpu)) /* it came back meanwhile */
		return 0;
	__sync_val_compare_and_swap(&thread->seen, NOT_SEEN, BEGUN);
	return 0;
}

/* Outputs the tokens of the threads that have not run since begin_periods began their period. */
SEC("iter/task")
int list_begun(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;

	if (thread && thread->seen == BEGUN && !off_cpu_returned_unseen(&thread->first.off, task))
		bpf_seq_write(ctx->meta->seq, &thread->first.key.user_stack,
			      sizeof(thread->first.key.user_stack));
	return 0;
}

/*
 * delays_until() this moment, for a thread whose period is still open then. One that sleeps does
 * not wait to run, whatever last_queued() says: since 6.12 the scheduler may keep it in a queue for
 * a while (delayed dequeue), and sets that when it moves the thread to another CPU meanwhile.
 */
static __always_inline __u64 delays_at(const struct off_cpu *off, struct task_struct *task,
				       __u64 until_ns)
{
	if (off_cpu_returned_unseen(off, task) || /* end_unseen() has left it alone */
	    task->__state)
		return off->delays_ns;
	return delays_until(task, clock_lead ? until_ns - clock_lead : 0);
}

#endif
