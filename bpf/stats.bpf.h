/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Per-CPU counters of what was seen and what was lost (struct stack_stats). */
#ifndef EHPERF_STATS_BPF_H
#define EHPERF_STATS_BPF_H

#include "kernel.bpf.h"
#include "stacks_abi.h"

ONE_PER_CPU(struct stack_stats) stats SEC(".maps");

static __always_inline struct stack_stats *own_stats(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stats, &zero);
}

#endif
