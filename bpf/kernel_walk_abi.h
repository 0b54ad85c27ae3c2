/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kernel_walk.bpf.h walks kernel stacks by: found in user space, and by the walks. */
#ifndef EHPERF_KERNEL_WALK_ABI_H
#define EHPERF_KERNEL_WALK_ABI_H

#include <linux/types.h>

/*
 * Where kernel stacks are walked from: the functions with the tracepoints, __schedule() and
 * try_to_wake_up(), which a task calls that leaves the CPU, or wakes another.
 */
enum kernel_start_of { START_AT_SWITCH, START_AT_WAKING, NR_KERNEL_STARTS };

struct kernel_function {
	__u64 begin, end; /* addresses; 0: not known */
};

/* where the kernel has what kernel_walk.bpf.h walks by; set before attaching */
struct kernel_layout {
	__u64 orc_ips, orc_entries;
	__u64 nr_orc; /* 0: not known */
	struct kernel_function text, starts[NR_KERNEL_STARTS], interrupt_entries;
	__u64 any_function; /* the first instruction of one in these tables */
	__u64 rethook, graph_hook;
};

/* what the walks have learned */
struct kernel_start {
	__u64 ip;
	__u32 word, bp_word;
	__u32 frames_above;
	__u32 walks;
	__u32 trusted;
	__u32 failed;
	__u32 missed;
};

/*
 * the walk by ORC tables is trusted after this many kernel stacks that equalled bpf_get_stack()'s
 */
#define KERNEL_WALK_TRUSTED 64

#endif
