// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples what runs on a CPU: the thread, its kernel stack and its user stack. */
#include "task.bpf.h"
#include "unwind.bpf.h"
#include "stacks.bpf.h"
#include "processes.bpf.h"

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0, pid = task_user_pid(task), tid = task_user_tid(task);
	struct stack_stats *counts = own_stats();
	struct eh_unwind *u = bpf_map_lookup_elem(&unwinds, &zero);
	struct stack_key key = { .pid = pid, .tid = tid };

	if (!counts || !u)
		return 0;
	counts->runs++;
	if (task->pid == 0) {
		counts->idle_runs++;
		key.flags |= STACK_IDLE;
	}
	if (!task_wanted(task, pid, tid) || !task_fits(task))
		return 0;

	if (task->flags & PF_KTHREAD)
		key.flags |= STACK_KERNEL_THREAD;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (with_kernel_stacks && (__s64)ctx->regs.ip < 0)
		key.kernel_stack = send_kernel_stack(ctx, counts);
	add_sample(u, task, &key, 1, counts);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
