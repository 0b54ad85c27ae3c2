/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions that may call each other and themselves, and that may never return: longjmp(),
 * an exception, or another context of the thread may remove their stack. Entries and returns are
 * paired by the stack pointer at the function's first instruction (the slot: there x86 has the
 * return address, which the return takes off the stack). A call has ended, whatever its return,
 * once a function is entered further up in the same stack.
 *
 * The outermost call of a thread is timed by timed_calls.bpf.h, with its stacks; those within it by
 * the same thread's times, as differences.
 *
 *   entry:	nested_enter(task, slot, chained, &key)
 *   return:	nested_return(task, slot, function, now_ns, others)
 *
 * The includer's SERIES_KEY has the members pid and function.
 */
#ifndef EHPERF_NESTED_CALLS_BPF_H
#define EHPERF_NESTED_CALLS_BPF_H

#include "nested_calls_abi.h"
#include "timed_calls.bpf.h"

const volatile bool kernel_calls; /* set before loading: the functions are the kernel's */

struct nested_call {
	__u64 slot;
	__u64 start_ns;
	__u64 blocked_ns, waiting_ns; /* of the outermost call, when this one began */
	__u32 function;
	__u32 pad;
};

struct nested_calls {
	__u32 nr;
	__u32 pad;
	struct nested_call calls[MAX_NESTED_CALLS]; /* calls[0] is the outermost one */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct nested_calls);
} nested_calls SEC(".maps");

ONE_PER_CPU(struct nested_counts) nested_counts SEC(".maps");

static __always_inline struct nested_counts *own_nested_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&nested_counts, &zero);
}

#define NESTED(n, i) (&(n)->calls[MASKED(i, MAX_NESTED_CALLS - 1)])

/* Takes away calls that never returned: all but the first `nr` ones. */
static __always_inline void drop_to(struct nested_calls *n, struct timed_call *outermost, __u32 nr,
				    struct nested_counts *counts)
{
	if (n->nr <= nr)
		return;
	counts->never_returned += n->nr - nr;
	n->nr = nr;
	if (!nr)
		outermost->start_ns = 0;
	else
		outermost->nested = nr - 1;
}

/*
 * A search from the innermost call outwards. For bpf_loop(), because the verifier would follow 64
 * turns.
 */
struct nested_search {
	const struct nested_calls *in;
	__u32 nr; /* calls up to the one that is looked at */
	__u32 function;
	__u64 slot;
	__u64 above; /* bytes of the stack above the slot: calls in them are not left */
	bool chained;
};

static __always_inline bool is_left(const struct nested_search *s)
{
	__u64 slot = NESTED(s->in, s->nr - 1)->slot;

	return slot == s->slot ? !s->chained : slot - s->slot > s->above;
}

/*
 * In the kernel, what runs on a task's own stack has no calls on any other: those of an interrupt,
 * which has a stack of its own, have ended. In an interrupt, nothing is known of the calls that it
 * has interrupted.
 */
static __always_inline __u64 bytes_above(struct task_struct *task, __u64 slot)
{
	__u64 bottom, top = 0;
	long regs; /* at the top of the task's stack */

	if (!kernel_calls)
		return 1ULL << 63;
	bottom = (__u64)untrusted(task)->stack;
	regs = bpf_task_pt_regs(task);
	/* as a number, with which the verifier lets us compute */
	bpf_probe_read_kernel(&top, sizeof(top), &regs);
	return slot >= bottom && slot < top ? top - slot : ~0ULL;
}

static long skip_left(__u32 i, struct nested_search *s)
{
	if (!s->nr || !is_left(s))
		return 1;
	s->nr--;
	return 0;
}

/*
 * how many calls are not left yet, when a function is entered with its return address in this slot
 */
static __always_inline __u32 still_open(const struct nested_calls *n, struct task_struct *task,
					__u64 slot, bool chained)
{
	struct nested_search s = {
		.in = n,
		.nr = n->nr,
		.slot = slot,
		.above = bytes_above(task, slot),
		.chained = chained,
	};

	if (s.nr && is_left(&s))
		bpf_loop(MAX_NESTED_CALLS, skip_left, &s, 0);
	return s.nr;
}

/*
 * key: of the call, complete. chained: the function was jumped to from one whose return is watched,
 * too: both will return to where the slot says.
 */
static __always_inline void nested_enter(struct task_struct *task, __u64 slot, bool chained,
					 const SERIES_KEY *key)
{
	struct nested_calls *n =
		bpf_task_storage_get(&nested_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct timed_call *outermost =
		bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct nested_counts *nested_counts = own_nested_counts();
	struct call_counts *counts = own_counts();
	struct nested_call *call;

	if (!counts || !nested_counts)
		return;
	if (!n || !outermost) {
		counts->no_memory++;
		return;
	}
	if (!outermost->start_ns)
		n->nr = 0;
	drop_to(n, outermost, still_open(n, task, slot, chained), nested_counts);
	if (n->nr >= MAX_NESTED_CALLS) {
		nested_counts->too_deep++;
		return;
	}
	call = NESTED(n, n->nr);
	call->slot = slot;
	call->function = key->function;
	if (!n->nr++) {
		outermost->key = *key;
		call_start(outermost, key->pid);
		return;
	}
	outermost->nested = n->nr - 1;
	counts->entered++;
	call_is_on_cpu(outermost, task);
	call->blocked_ns = outermost->blocked_ns;
	call->waiting_ns = outermost->waiting_ns;
	call->start_ns = bpf_ktime_get_ns();
}

/* The task's stack is gone. */
static __always_inline void nested_drop(struct task_struct *task)
{
	struct timed_call *outermost = call_in_flight(task);
	struct nested_calls *n = bpf_task_storage_get(&nested_calls, task, NULL, 0);
	struct nested_counts *nested_counts = own_nested_counts();

	if (outermost && n && nested_counts)
		drop_to(n, outermost, 0, nested_counts);
}

static __always_inline bool is_returning(const struct nested_search *s)
{
	const struct nested_call *call = NESTED(s->in, s->nr - 1);

	return call->slot == s->slot && call->function == s->function;
}

static long skip_others(__u32 i, struct nested_search *s)
{
	if (!s->nr || is_returning(s))
		return 1;
	s->nr--;
	return 0;
}

/* the number of calls up to the one that returns; 0: its entry was not seen */
static __always_inline __u32 find_returning(const struct nested_calls *n, __u64 slot,
					    __u32 function)
{
	struct nested_search s = { .in = n, .nr = n->nr, .slot = slot, .function = function };

	if (s.nr && !is_returning(&s))
		bpf_loop(MAX_NESTED_CALLS, skip_others, &s, 0);
	return s.nr;
}

/* Was this call entered within as many as are kept? Then it is counted already. */
static __always_inline bool is_too_deep(const struct nested_calls *n, __u64 slot)
{
	return n->nr >= MAX_NESTED_CALLS && slot < n->calls[MAX_NESTED_CALLS - 1].slot;
}

static __always_inline void finish_nested(const struct nested_call *call,
					  struct timed_call *outermost, __u64 now_ns,
					  struct task_struct *task)
{
	__u64 blocked_ns = outermost->blocked_ns - call->blocked_ns,
	      waiting_ns = outermost->waiting_ns - call->waiting_ns;
	SERIES_KEY of = outermost->key, key = {};

	of.function = call->function;
	call_series(&of, &key, task);
	series_add(series_slot(series_of(&key)),
		   call_latency(now_ns - call->start_ns, blocked_ns + waiting_ns), blocked_ns,
		   waiting_ns, 0);
}

/*
 * now_ns: when the function returned; others: other functions return there, too, so that this may
 * not be the return of a call that was entered. Call call_report() next.
 */
static __always_inline void nested_return(struct task_struct *task, __u64 slot, __u32 function,
					  __u64 now_ns, bool others)
{
	struct timed_call *outermost = call_in_flight(task);
	struct nested_calls *n = bpf_task_storage_get(&nested_calls, task, NULL, 0);
	struct nested_counts *nested_counts = own_nested_counts();
	struct call_counts *counts = own_counts();
	__u32 nr = outermost && n ? find_returning(n, slot, function) : 0;

	if (!counts || !nested_counts)
		return;
	if (!nr) {
		counts->unseen += !others && !(outermost && n && is_too_deep(n, slot));
		return;
	}
	drop_to(n, outermost, nr, nested_counts);
	n->nr = nr - 1;
	if (nr > 1) {
		outermost->nested = nr - 2;
		call_is_on_cpu(outermost, task);
		finish_nested(NESTED(n, nr - 1), outermost, now_ns, task);
		return;
	}
	call_stop(outermost, task, CALL_WAY_1, now_ns);
	call_finish(outermost, task, 0);
}

#endif
