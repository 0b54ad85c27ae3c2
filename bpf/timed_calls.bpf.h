/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed calls: how long something takes from its entry to its return, and what it waits for
 * meanwhile. Each call is added to a histogram (histograms.bpf.h). Its time is split into on the
 * CPU, blocked, and waiting to run; the kernel stacks in which it was blocked are kept, with the
 * user stack at its return.
 *
 * This header has the programs on the scheduler's tracepoints, and the iterator over the calls that
 * have not returned. The includer defines SERIES_KEY, a type that describes a call, with a member
 * comm, and
 *
 *   static __always_inline void call_series(const SERIES_KEY *of, SERIES_KEY *series,
 *					     struct task_struct *task);
 * 	which histogram a call belongs to: copies the fields of `of` that distinguish histograms;
 * 	  *series is
 *	zeroed before
 *
 * and has programs of its own at entry and return:
 *
 *   entry:	call = call_enter(task, way); fills call->key; call_start(call, pid)
 *   return:	call = call_leave(task, way, &again); call_stop(call, task, way, now_ns);
 *		call_finish(call, task, result); call_report();
 *
 * A thread has one such call at a time; calls within it are counted in .nested, and timed by
 * nested_calls.bpf.h.
 */
#ifndef EHPERF_TIMED_CALLS_BPF_H
#define EHPERF_TIMED_CALLS_BPF_H

#include "histograms.bpf.h"
#include "kernel.bpf.h"
#include "off_cpu.bpf.h"
#include "preemption.bpf.h"
#include "processes.bpf.h"
#include "stacks.bpf.h"
#include "task.bpf.h"
#include "timed_calls_abi.h"
#include "unwind.bpf.h"

/* Calls that take longer are also sent one by one; 0: none. Set before loading */
const volatile __u64 slow_ns;

/*
 * Set once all programs are attached, and reset at the end. They are detached after the report,
 * which names the trampolines by which the kernel calls them.
 */
bool measuring;

/*
 * The kernel skips a program whose CPU is inside a map operation (bpf_prog_active), even if that is
 * one of a thread that was preempted there. So entries and returns may be watched in two ways that
 * are not skipped at the same time. Of each entry and return, the first way to see it handles it,
 * and the second recognises that it was handled.
 */
enum call_way { CALL_WAY_1 = 1, CALL_WAY_2 = 2 }; /* bits */

struct timed_call {
	__u64 start_ns;   /* 0: the thread is in no measured call */
	__u32 entered_by; /* the ways that have seen this entry; valid while start_ns is set */
	/* the way that has handled the last return, until the other sees it, too; or 0 */
	__u32 returned_by;
	__u32 nested; /* measured calls within this one that have not returned */
	struct off_cpu off;
	__u64 blocked_ns, waiting_ns;
	__u64 kernel_stack; /* ID of the stack that it is blocked in */
	/* set at the return: */
	bool reported;
	__s32 user_end;
	__u64 user_stack, latency_ns, ended_ns;
	__s64 result;
	__u32 slot, nr_blocked;
	__u32 series; /* number of the last call's histogram, with series_key, if has_series */
	bool has_series;
	struct blocked_in blocked[MAX_BLOCKED_STACKS];
	/*
	 * scratch of add_stacks(), too large for the programs' stack: the current key, and the time
	 * not yet added
	 */
	struct stack_key stack;
	__u64 rest_ns;
	bool raw;
	__u32 pid;
	SERIES_KEY key;
	SERIES_KEY series_key, next_series_key;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct timed_call);
} calls SEC(".maps");

ONE_PER_CPU(struct call_counts) call_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} slow_calls SEC(".maps");

static __always_inline void call_series(const SERIES_KEY *of, SERIES_KEY *series,
					struct task_struct *task);

static __always_inline struct call_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&call_counts, &zero);
}

/*
 * The call that the task is in, or NULL. Most tasks have no storage at all, which is quick to see.
 */
static __always_inline struct timed_call *call_in_flight(struct task_struct *task)
{
	struct timed_call *call = NULL;

	if (untrusted(task)->bpf_storage)
		call = bpf_task_storage_get(&calls, task, NULL, 0);
	return call && call->start_ns ? call : NULL;
}

static __always_inline struct timed_call *measured_call(struct task_struct *task)
{
	return measuring ? call_in_flight(task) : NULL;
}

/* ---- entry ---- */

/*
 * Enters a call, whose key the caller fills in next. NULL: the other way has handled this entry, or
 * no memory
 */
static __always_inline struct timed_call *call_enter(struct task_struct *task, enum call_way way)
{
	struct timed_call *call =
		bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct call_counts *counts = own_counts();

	if (!counts)
		return NULL;
	if (!call) {
		counts->no_memory++;
		return NULL;
	}
	if (call->start_ns && !(call->entered_by & way)) {
		call->entered_by |= way;
		return NULL;
	}
	if (call->start_ns)
		counts->returns_unseen += 1 + call->nested;
	call->start_ns = 0;
	call->entered_by = way;
	call->returned_by = 0;
	return call;
}

/* Starts measuring the call. pid: as user space counts */
static __always_inline void call_start(struct timed_call *call, __u32 pid)
{
	struct call_counts *counts = own_counts();

	if (!counts)
		return;
	call->pid = pid;
	call->off.from_ns = 0;
	call->blocked_ns = call->waiting_ns = 0;
	call->nr_blocked = call->nested = 0;
	call->user_stack = 0;
	call->user_end = END_NOT_TAKEN;
	call->reported = true;
	counts->entered++;
	call->start_ns = bpf_ktime_get_ns();
}

/* ---- the thread leaves the CPU and comes back ---- */

static __always_inline void add_blocked(struct timed_call *call, __u64 blocked_ns)
{
	struct call_counts *counts = own_counts();
	__u32 i;

	for (i = 0; i < MAX_BLOCKED_STACKS; i++) {
		if (i >= call->nr_blocked) {
			call->nr_blocked = i + 1;
			call->blocked[i].kernel_stack = call->kernel_stack;
			call->blocked[i].ns = blocked_ns;
			return;
		}
		if (call->blocked[i].kernel_stack == call->kernel_stack) {
			call->blocked[i].ns += blocked_ns;
			return;
		}
	}
	if (counts)
		counts->stacks_dropped++;
}

/* Closes the period that the thread was off the CPU, if one is open: it came back at now_ns. */
static __always_inline void call_period_ends(struct timed_call *call, __u64 now_ns, __u64 delays_ns)
{
	__u64 blocked_ns, waited_ns;

	if (!off_cpu_return(&call->off, now_ns, delays_ns, &blocked_ns, &waited_ns))
		return;
	call->blocked_ns += blocked_ns;
	call->waiting_ns += waited_ns;
	if (blocked_ns)
		add_blocked(call, blocked_ns);
}

/*
 * The thread is on the CPU. If a period is open, the kernel has not reported its end. A function of
 * its own, for the verifier's sake.
 */
static __noinline void call_is_on_cpu(struct timed_call *call, struct task_struct *task)
{
	struct call_counts *counts;
	__u64 back_ns;

	if (!call || !task || !call->off.from_ns)
		return;
	back_ns = off_cpu_unseen_return(&call->off, task, bpf_ktime_get_ns());
	if (!back_ns) {
		counts = own_counts();
		if (counts)
			counts->ends_unseen++;
		back_ns = call->off.runnable_ns ? call->off.runnable_ns : call->off.left_ns;
	}
	call_period_ends(call, back_ns, delays_until(task, 0));
}

__u64 prog_active, per_cpu_offset; /* addresses of the kernel's variables; 0: not known */

/* Finds these addresses: for a program that runs once, before any call is measured. */
static __always_inline void find_prog_active(void)
{
	if (bpf_kallsyms_lookup_name("bpf_prog_active", sizeof("bpf_prog_active"), 0,
				     &prog_active) ||
	    bpf_kallsyms_lookup_name("__per_cpu_offset", sizeof("__per_cpu_offset"), 0,
				     &per_cpu_offset))
		prog_active = 0;
}

/* Is this CPU inside a map operation? True if that is not known. */
static __always_inline bool in_map_operation(void)
{
	__u64 offset = 0;
	int active = 1;

	if (!prog_active ||
	    bpf_probe_read_kernel(&offset, sizeof(offset),
				  (void *)per_cpu_offset + 8 * bpf_get_smp_processor_id()))
		return true;
	bpf_probe_read_kernel(&active, sizeof(active), (void *)prog_active + offset);
	return active;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switches, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct timed_call *call = measured_call(prev);

	if (call) {
		bool runnable = leaves_runnable(preempt, prev_state);
		struct stack_stats *stats = own_stats();
		struct call_counts *counts = own_counts();

		if (preempt && counts && in_map_operation())
			counts->preempted++;
		call_is_on_cpu(call, prev);
		off_cpu_leave(&call->off, prev, bpf_ktime_get_ns(), scheduler_clock(prev),
			      runnable);
		call->kernel_stack = !runnable && stats ? send_kernel_stack(ctx, stats) : 0;
	}
	call = measured_call(next);
	if (call)
		call_period_ends(call, bpf_ktime_get_ns(),
				 delays_until(next, scheduler_clock(next)));
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(thread_wakes, struct task_struct *task)
{
	struct timed_call *call = measured_call(task);

	if (call)
		off_cpu_wake(&call->off, task, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_dies, struct task_struct *task)
{
	struct timed_call *call = measured_call(task);
	struct call_counts *counts = own_counts();

	if (call && counts) {
		call->start_ns = 0;
		counts->died += 1 + call->nested;
	}
	return 0;
}

/* ---- return ---- */

_Static_assert(sizeof(SERIES_KEY) % sizeof(__u32) == 0, "keys are compared by words");

static __always_inline bool same_key(const SERIES_KEY *left, const SERIES_KEY *right)
{
	const __u32 *l = (const __u32 *)left, *r = (const __u32 *)right;

	for (__u32 i = 0; i < sizeof(SERIES_KEY) / sizeof(__u32); i++)
		if (l[i] != r[i])
			return false;
	return true;
}

/* The histogram of a thread's calls is seldom another one than the last time. */
static __always_inline __u32 find_series(struct timed_call *call, struct task_struct *task)
{
	__u32 number;

	__builtin_memset(&call->next_series_key, 0, sizeof(call->next_series_key));
	call_series(&call->key, &call->next_series_key, task);
	if (call->has_series && same_key(&call->next_series_key, &call->series_key))
		return call->series;
	number = series_of(&call->next_series_key);
	if (number == REST_SERIES)
		return REST_SERIES;
	call->series = number;
	call->series_key = call->next_series_key;
	call->has_series = true;
	return number;
}

/*
 * The call that returns, or NULL. NULL with *again set: the other way has handled this return. NULL
 * without *again: the entry was not seen; if the tool measures this call, it counts it by
 * call_unseen().
 */
static __always_inline struct timed_call *call_leave(struct task_struct *task, enum call_way way,
						     bool *again)
{
	struct timed_call *call = call_in_flight(task);

	*again = false;
	if (call)
		return call;
	call = bpf_task_storage_get(&calls, task, NULL, 0);
	if (call && call->returned_by && call->returned_by != way) {
		call->returned_by = 0;
		*again = true;
	}
	return NULL;
}

static __always_inline void call_unseen(struct task_struct *task, enum call_way way)
{
	struct timed_call *call =
		bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct call_counts *counts = own_counts();

	if (counts)
		counts->unseen++;
	if (call)
		call->returned_by = way;
}

/*
 * The latency of a call that took this time, off_ns of it off the CPU. If the thread is preempted
 * in a program at its entry or return, that may be more than the clock, which was read before or
 * after.
 */
static __always_inline __u64 call_latency(__u64 took_ns, __u64 off_ns)
{
	return took_ns > off_ns ? took_ns : off_ns;
}

/* Ends the call at now_ns, and marks this return as handled. */
static __always_inline void call_stop(struct timed_call *call, struct task_struct *task,
				      enum call_way way, __u64 now_ns)
{
	call_is_on_cpu(call, task);
	call->latency_ns =
		call_latency(now_ns - call->start_ns, call->blocked_ns + call->waiting_ns);
	call->ended_ns = now_ns;
	call->start_ns = 0;
	call->returned_by = way;
}

/* Adds a stopped call to its histogram. result: a negative one counts as an error, -errno */
static __always_inline void call_finish(struct timed_call *call, struct task_struct *task,
					__s64 result)
{
	call->slot = series_slot(find_series(call, task));
	series_add(call->slot, call->latency_ns, call->blocked_ns, call->waiting_ns,
		   result < 0 ? -result : 0);
	call->result = result;
	call->reported = false;
}

/*
 * Adds the time in the i-th stack that the call was blocked in; after the last one, the rest of the
 * time.
 */
static long add_stack(__u32 i, struct timed_call **ctx)
{
	struct timed_call *call = *ctx;
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_stats *stats = own_stats();
	struct stack_value value = {};
	__u64 ns = call->rest_ns;
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);

	if (!stats || !u)
		return 1;
	call->stack.kernel_stack = 0;
	if (i < MAX_BLOCKED_STACKS && i < call->nr_blocked) {
		call->stack.kernel_stack = call->blocked[i].kernel_stack;
		ns = call->blocked[i].ns;
	}
	call->rest_ns -= ns;
	value.count = !!ns;
	value.blocked_ns = call->stack.kernel_stack ? ns : 0;
	value.waiting_ns = ns - value.blocked_ns;
	if (ns && !(call->raw && send_raw(u, task, &call->stack, &value, 0)))
		add_value(&call->stack, &value, stats);
	return 0;
}

/*
 * Adds the stacks that the call was blocked in; with user stacks, also the rest of the time,
 * without a kernel stack.
 */
static __always_inline void add_stacks(struct timed_call *call, struct task_struct *task)
{
	struct stack_stats *stats = own_stats();
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);

	if (!stats || !u)
		return;
	call->rest_ns = call->latency_ns;
	call->raw = false;
	call->stack = (struct stack_key){ .end = END_NOT_TAKEN,
					  .flags = STACK_SLOT(call->slot),
					  .uid = task_uid(task) };
	if (with_user_stacks) {
		unwind_current(u, task, WALK_STEPS(max_depth));
		call->raw = wants_raw(u);
		call->stack.user_stack = call->user_stack = CALL(send_user_stack, u, stats);
		call->stack.end = call->user_end = u->end;
		call->stack.pid = call->pid;
	}
	bpf_loop(call->nr_blocked + with_user_stacks, add_stack, &call, 0);
}

static __always_inline void send_slow(const struct timed_call *call, struct task_struct *task,
				      struct call_counts *counts)
{
	struct slow_record {
		struct slow_call call;
		SERIES_KEY key;
	};
	struct slow_record *slow = bpf_ringbuf_reserve(&slow_calls, sizeof(*slow), 0);

	if (!slow) {
		counts->slow_lost++;
		return;
	}
	slow->call.tid = task_user_tid(task);
	slow->call.result = call->result;
	slow->call.ended_ns = call->ended_ns;
	slow->call.latency_ns = call->latency_ns;
	slow->call.blocked_ns = call->blocked_ns;
	slow->call.waiting_ns = call->waiting_ns;
	slow->call.user_stack = call->user_stack;
	slow->call.user_end = call->user_end;
	slow->call.nr_blocked = call->nr_blocked;
	slow->call.pad = 0;
	__builtin_memcpy(slow->call.blocked, call->blocked, sizeof(slow->call.blocked));
	slow->key = call->key;
	bpf_probe_read_kernel_str(slow->key.comm, sizeof(slow->key.comm), task->comm);
	bpf_ringbuf_submit(slow, 0);
}

/*
 * Sends the stacks of a call that has returned, and the call itself if it was slow. A global
 * function: verified once, and not for each way that leads to it.
 */
__noinline int call_report(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct timed_call *call = bpf_task_storage_get(&calls, task, NULL, 0);
	struct call_counts *counts = own_counts();

	if (!call || !counts || call->reported)
		return 0;
	call->reported = true;
	if (with_user_stacks || call->nr_blocked)
		add_stacks(call, task);
	if (slow_ns && call->latency_ns > slow_ns)
		send_slow(call, task, counts);
	return 0;
}

/* ---- calls that have not returned ---- */

/* Outputs a struct call_in_flight, followed by its key, for every thread that is in a call. */
SEC("iter/task")
int list_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct timed_call *call = task ? call_in_flight(task) : NULL;
	struct {
		struct call_in_flight call;
		SERIES_KEY key;
	} record = {};

	if (!call)
		return 0;
	record.call.start_ns = call->start_ns;
	record.call.tid = task_user_tid(task);
	record.key = call->key;
	bpf_probe_read_kernel_str(record.key.comm, sizeof(record.key.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

#endif
