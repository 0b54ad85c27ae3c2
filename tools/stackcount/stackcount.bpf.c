// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks in which an event happens. A tool's run has one kind of events, so that one of these is
 * loaded.
 */
#include "alone.bpf.h"
#include "processes.bpf.h"
#include "stacks.bpf.h"

bool measuring;

static __always_inline void count(void *ctx, bool with_kernel)
{
	if (measuring)
		count_event(ctx, with_kernel, bpf_get_attach_cookie(ctx) << STACK_EVENT_SHIFT);
}

SEC("?tp")
int count_tracepoint(void *ctx)
{
	count(ctx, true);
	return 0;
}

SEC("?kprobe")
int count_kernel_function(struct pt_regs *ctx)
{
	count(ctx, true);
	return 0;
}

/* There is no kernel stack but the breakpoint's. */
SEC("?uprobe")
int count_user_function(struct pt_regs *ctx)
{
	if (!alone_begin())
		return 0;
	count(ctx, false);
	alone_end();
	return 0;
}

SEC("?perf_event")
int count_perf_event(struct bpf_perf_event_data *ctx)
{
	if (count_run())
		count(ctx, (__s64)ctx->regs.ip < 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
