// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times calls of functions at their entry and return: of user functions by uprobes, of the kernel's
 * by kprobes. The return of a user function is probed at the instructions by which it leaves, or by
 * a return probe (function_exits.h).
 */
#include "funclat_abi.h"

#define SERIES_KEY struct function_call_key
#include "alone.bpf.h"
#include "nested_calls.bpf.h"

const volatile bool by_process;    /* set before loading */
const volatile bool return_probes; /* set before loading: some returns are seen by return probes */

/* the series that a call belongs to */
static __always_inline void call_series(const struct function_call_key *call,
					struct function_call_key *key, struct task_struct *task)
{
	key->function = call->function;
	if (by_process) {
		key->pid = call->pid;
		bpf_probe_read_kernel_str(key->comm, sizeof(key->comm),
					  untrusted(task)->group_leader->comm);
	}
}

static __always_inline bool call_wanted(struct task_struct *task, __u32 pid)
{
	return measuring && !is_own(task) && task_wanted(task, pid, 0);
}

static __always_inline void enters(struct pt_regs *regs, bool chained)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct function_call_key key = { .function = bpf_get_attach_cookie(regs) + 1,
					 .pid = task_user_pid(task) };

	if (call_wanted(task, key.pid))
		nested_enter(task, PT_REGS_SP(regs), chained, &key);
}

/* slot: the stack pointer at the function's first instruction */
static __always_inline void returns(struct pt_regs *regs, __u64 slot, __u64 cookie)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();

	if (!call_wanted(task, task_user_pid(task)))
		return;
	nested_return(task, slot, (cookie & ~EXIT_SHARED) + 1, now_ns, cookie & EXIT_SHARED);
	call_report();
}

/* ---- user functions ---- */

/*
 * Is the return address one that the kernel has put there to watch the return of the function that
 * jumped here? It leads to the beginning of the page that the kernel has in the process for its
 * probes.
 */
static __always_inline bool is_chained(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 page = BPF_CORE_READ(untrusted(task)->mm, uprobes_state.xol_area, vaddr);

	return page && return_address(regs) == page;
}

SEC("?uprobe")
int user_function_begins(struct pt_regs *ctx)
{
	if (!alone_begin())
		return 0;
	enters(ctx, return_probes && is_chained(ctx));
	alone_end();
	return 0;
}

/*
 * at a return or a tail call: the stack pointer is where it was at the function's first instruction
 */
SEC("?uprobe")
int user_function_leaves(struct pt_regs *ctx)
{
	if (!alone_begin())
		return 0;
	returns(ctx, PT_REGS_SP(ctx), bpf_get_attach_cookie(ctx));
	alone_end();
	return 0;
}

SEC("?uretprobe")
int user_function_returned(struct pt_regs *ctx)
{
	if (!alone_begin())
		return 0;
	returns(ctx, PT_REGS_SP(ctx) - RETURN_POPS, bpf_get_attach_cookie(ctx));
	alone_end();
	return 0;
}

/* The new program has a new stack. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(program_replaced, struct task_struct *task)
{
	nested_drop(task);
	return 0;
}

/* ---- functions of the kernel ---- */

SEC("?kprobe")
int kernel_function_begins(struct pt_regs *ctx)
{
	enters(ctx, false);
	return 0;
}

SEC("?kretprobe")
int kernel_function_returns(struct pt_regs *ctx)
{
	returns(ctx, PT_REGS_SP(ctx) - RETURN_POPS, bpf_get_attach_cookie(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
