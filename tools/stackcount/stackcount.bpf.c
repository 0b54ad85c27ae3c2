// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the stacks in which an event happens. A run has one kind of events, so only the program
 * for this kind is loaded.
 */
#include "alone.bpf.h"
#include "events_abi.h"
#include "processes.bpf.h"
#include "stacks.bpf.h"

bool measuring;
const volatile bool with_sum;
const volatile struct event_argument arguments[MAX_EVENTS];

/* 0 if it is negative: an error that is returned, a length that is none */
static __always_inline __u64 argument(void *ctx, __u64 event)
{
	const volatile struct event_argument *a;
	__u64 value = 0, bits;
	__u32 bytes;

	if (!with_sum || event >= MAX_EVENTS)
		return 0;
	a = &arguments[event];
	bytes = a->bytes;
	bpf_probe_read_kernel(&value, sizeof(value), ctx + a->at);
	if (a->place == ARGUMENT_CONSTANT) {
		value = a->offset;
	} else if (a->place == ARGUMENT_IN_MEMORY) {
		const void *address = (const void *)(value + a->offset);

		value = 0;
		if (bytes <= sizeof(value))
			bpf_probe_read_user(&value, bytes, address);
	}
	bits = (64 - 8 * bytes) & 63;
	value <<= bits;
	if (a->is_signed && (__s64)value < 0)
		return 0;
	value >>= bits;
	return value < MAX_ARGUMENT ? value : MAX_ARGUMENT;
}

static __always_inline void count(void *ctx, bool with_kernel)
{
	__u64 event;

	if (!measuring)
		return;
	event = bpf_get_attach_cookie(ctx);
	count_event(ctx, with_kernel, event << STACK_EVENT_SHIFT, argument(ctx, event));
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
	if (count_run() && measuring)
		count_event(ctx, is_in_kernel(ctx), bpf_get_attach_cookie(ctx) << STACK_EVENT_SHIFT,
			    0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
