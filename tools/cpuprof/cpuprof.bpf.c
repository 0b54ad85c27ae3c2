// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples what runs on a CPU: the thread, its kernel stack and its user stack. */
#include "processes.bpf.h"
#include "stacks.bpf.h"

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	if (count_run())
		count_sample(ctx, is_in_kernel(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
