// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder and the kernel's walk along frame pointers, each as a program of its own. */
#include "task.bpf.h"
#include "unwind.bpf.h"
#include "stacks.bpf.h"
#include "processes.bpf.h"

__u64 frames, complete;

SEC("perf_event")
int by_eh_frame(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);

	if (!u)
		return 0;
	unwind_current(u, bpf_get_current_task_btf(), WALK_STEPS(max_depth));
	frames += u->stack.nr_frames;
	complete += u->end == END_COMPLETE;
	return 0;
}

SEC("perf_event")
int by_frame_pointers(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);
	long bytes = u ? bpf_get_stack(ctx, u->frames, sizeof(u->frames), BPF_F_USER_STACK) : 0;

	if (bytes > 0)
		frames += bytes / 8;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
