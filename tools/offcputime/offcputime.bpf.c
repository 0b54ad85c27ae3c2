// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stays off the CPU: who, in which state, with which stacks, how long blocked and how long waiting to run.
 *
 * Whoever is measured has a task storage: one look says whether a thread is of interest, and none is made while
 * the scheduler's locks are held. The stacks are taken when a thread leaves the CPU, while it is `current`.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "offcputime_abi.h"
#include "off_cpu.bpf.h"
#include "task.bpf.h"
#include "unwind.bpf.h"
#include "stacks.bpf.h"
#include "kernel_walk.bpf.h"
#include "processes.bpf.h"

#define TASK_INTERRUPTIBLE	0x001
#define TASK_UNINTERRUPTIBLE	0x002
#define TASK_STOPPED		0x004
#define TASK_TRACED		0x008
#define TASK_PARKED		0x040
#define TASK_DEAD		0x080
#define TASK_NOLOAD		0x400
#define TASK_NEW		0x800

const volatile __u32 wanted_states = ~0U;	/* 1 << enum thread_state */
const volatile __u64 min_ns = 0, max_ns = ~0ULL;
const volatile bool count_blocked = true, count_waiting = true;	/* which parts of a stay */
const volatile bool only_listed_cpus;
const volatile __u64 listed_cpus[MAX_CPUS / 64];

__u64 ended_ns;	/* 0: it goes on */

struct stay {
	struct off_cpu off;
	struct stack_key key;
};

/*
 * A thread that was off the CPU before anybody saw it leave has its first stay written by the iterator, unless it
 * is faster and runs: whoever sets `seen` first.
 */
enum { NOT_SEEN, BEGUN, SEEN };
struct thread {
	struct stay stay, first;
	__u32 seen, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* ---- stays ---- */

static __always_inline __u32 state_of(__u32 state)
{
	__u32 found = THREAD_UNINTERRUPTIBLE;	/* frozen, and waiting for a lock, too */

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
	barrier_var(found);	/* one number for the verifier, not a path for each */
	return found;
}

static __always_inline bool state_wanted(__u32 state)
{
	return wanted_states >> state & 1;
}

static __always_inline bool cpu_wanted(__u32 cpu)
{
	return !only_listed_cpus || (cpu < MAX_CPUS && listed_cpus[MASKED(cpu / 64, MAX_CPUS / 64 - 1)] >> (cpu & 63) & 1);
}

static __always_inline void name_thread(struct stack_key *key, struct task_struct *task, __u32 state)
{
	key->user_stack = key->kernel_stack = 0;
	key->pid = task_user_pid(task);
	key->tid = task_user_tid(task);
	key->end = END_NOT_TAKEN;
	key->flags = state << STACK_STATE_SHIFT;
	if (task->flags & PF_KTHREAD)
		key->flags |= STACK_KERNEL_THREAD;
	bpf_probe_read_kernel(key->comm, sizeof(key->comm), task->comm);
}

/* the parts that count. False: filtered out */
static __always_inline bool value_of(struct off_cpu *off, __u64 now_ns, struct stack_value *value)
{
	__u64 ns;

	if (!off_cpu_return(off, now_ns, &value->blocked_ns, &value->waiting_ns))
		return false;
	value->count = 1;
	ns = (count_blocked ? value->blocked_ns : 0) + (count_waiting ? value->waiting_ns : 0);
	return (ns || (count_blocked && count_waiting)) && ns >= min_ns && ns <= max_ns;
}

/* ---- while it is measured ---- */

static __always_inline void leave(void *ctx, struct task_struct *task, struct thread *thread, __u64 now_ns, __u32 task_state)
{
	__u32 state = state_of(task_state);
	struct stack_key *key = &thread->stay.key;
	struct stack_stats *counts = own_stats();
	__u32 zero = 0;
	struct eh_unwind *u = bpf_map_lookup_elem(&unwinds, &zero);

	thread->seen = SEEN;
	if (!counts || !u || task->flags & PF_IDLE || !state_wanted(state) || !cpu_wanted(bpf_get_smp_processor_id()) ||
	    !task_fits(task))
		return;
	counts->runs++;
	name_thread(key, task, state);
	if (ctx && with_kernel_stacks)
		key->kernel_stack = send_schedule_stack(ctx, task, counts);
	take_user_stack(u, task, key, counts);
	/* the state from the key again: kept meanwhile, it makes ten times as much work for the verifier */
	off_cpu_leave(&thread->stay.off, now_ns, STACK_STATE(key->flags) == THREAD_RUNNABLE);
}

static __always_inline void come_back(struct thread *thread, __u64 now_ns)
{
	struct stack_stats *counts = own_stats();
	struct stay *stay = &thread->stay;
	struct stack_value value;

	if (thread->seen != SEEN && __sync_lock_test_and_set(&thread->seen, SEEN) == BEGUN)
		stay = &thread->first;
	if (counts && value_of(&stay->off, now_ns, &value))
		add_value(&stay->key, &value, counts);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switches, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct thread *leaves = bpf_task_storage_get(&threads, prev, NULL, 0);
	struct thread *returns = bpf_task_storage_get(&threads, next, NULL, 0);
	__u64 now_ns;

	if (ended_ns)
		return 0;
	if (!leaves) {
		barrier_var(leaves);	/* or both are tested by one `or`, which the verifier refuses */
		if (!returns)
			return 0;
	}
	now_ns = bpf_ktime_get_ns();
	if (returns)
		come_back(returns, now_ns);
	if (leaves && !(prev_state & TASK_DEAD))
		leave(ctx, prev, leaves, now_ns, leaves_runnable(preempt, prev_state) ? 0 : prev_state);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(thread_wakes, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	__u64 now_ns;

	if (!thread || ended_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	off_cpu_wake(&thread->stay.off, now_ns);
	if (thread->seen != SEEN)
		off_cpu_wake(&thread->first.off, now_ns);
	return 0;
}

/* ---- who is measured ---- */

static __always_inline bool is_measured(struct task_struct *task)
{
	return task->tgid != own_tgid && task_wanted(task, task_user_pid(task), task_user_tid(task));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_begins, struct task_struct *parent, struct task_struct *child)
{
	struct stack_stats *counts = own_stats();

	if (!ended_ns && is_measured(child) &&
	    !bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) && counts)
		counts->forks_lost++;
	return 0;
}

/* It waits to run for the first time. Its registers are there, and its stack is what its parent sees at that address. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(thread_starts, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	if (thread && !ended_ns)
		leave(NULL, task, thread, bpf_ktime_get_ns(), 0);
	return 0;
}

/* ---- off the CPU when it begins, and when it ends ---- */

__u64 begun_tokens;

/* what the iterators work in: per-CPU scratch is for programs that nothing interrupts */
struct begun {
	struct eh_unwind u;
	struct kernel_stack kernel;
	struct raw_record raw;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct begun);
} scratch SEC(".maps");

/*
 * Read twice: once this makes the storages, so that no thread leaves unseen any more; then those off the CPU whom
 * nobody saw leave begin their stay, each with a raw_record of its registers for user space to add the stack to.
 */
SEC("iter/task")
int begin_stays(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack_stats *counts = own_stats();
	__u32 zero = 0, state;
	struct begun *b = bpf_map_lookup_elem(&scratch, &zero);
	struct stack_value later = {};
	struct thread *thread;
	struct stay *first;
	__u64 token;

	if (!task || !b || !counts || !is_measured(task))
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!thread) {
		if (!bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
			__sync_fetch_and_add(&counts->forks_lost, 1);
		return 0;
	}
	state = task->__state;
	if (thread->seen != NOT_SEEN || task->on_cpu || task->exit_state || state & (TASK_DEAD | TASK_NEW) ||
	    !state_wanted(state_of(state)) || !cpu_wanted(task->thread_info.cpu) || !task_fits(task))
		return 0;
	first = &thread->first;
	name_thread(&first->key, task, state_of(state));
	if (with_kernel_stacks)
		first->key.kernel_stack = send_kernel_frames(&b->kernel,
			bpf_get_task_stack(task, b->kernel.frames, MAX_KERNEL_DEPTH * 8, 0), counts);
	if (with_user_stacks) {
		token = 1ULL << 63 | __sync_fetch_and_add(&begun_tokens, 1);
		first->key.flags |= STACK_PENDING;
		first->key.user_stack = token;
		first->key.end = fill_raw(&b->raw, &b->u, task, &first->key, &later, token);
		if (first->key.end != END_COMPLETE) {
			first->key.flags &= ~STACK_PENDING;
			first->key.user_stack = 0;
		} else if (bpf_seq_write(ctx->meta->seq, &b->raw, sizeof(b->raw))) {
			return 0;	/* no room: this is called again for it */
		}
	}
	off_cpu_leave(&first->off, bpf_ktime_get_ns(), !state);
	if (!task->__state)	/* woken since it was looked at: nobody told, for it had not left */
		off_cpu_wake(&first->off, first->off.left_ns);
	__sync_val_compare_and_swap(&thread->seen, NOT_SEEN, BEGUN);
	return 0;
}

/* the tokens of those who have not run since they began */
SEC("iter/task")
int list_begun(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;

	if (thread && thread->seen == BEGUN)
		bpf_seq_write(ctx->meta->seq, &thread->first.key.user_stack, sizeof(thread->first.key.user_stack));
	return 0;
}

/* From the first call on, nothing is counted any more. What is off the CPU has been up to then: as value_records. */
SEC("iter/task")
int end_stays(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct value_record record = { .kind = RECORD_VALUE };
	struct thread *thread;
	struct off_cpu off;
	struct stay *stay;

	if (!ended_ns)
		ended_ns = bpf_ktime_get_ns();
	thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
	if (!thread)
		return 0;
	stay = thread->seen == BEGUN ? &thread->first : &thread->stay;
	off = stay->off;
	record.key = stay->key;
	record.key.flags |= STACK_OPEN;
	if (value_of(&off, ended_ns, &record.value))
		bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
