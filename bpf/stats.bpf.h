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

/* Counts a run of the sampling program, before any filter. False: it cannot be counted */
static __always_inline bool count_run(void)
{
	struct stack_stats *counts = own_stats();

	if (!counts)
		return false;
	counts->runs++;
	if (bpf_get_current_task_btf()->pid == 0)
		counts->idle_runs++;
	return true;
}

#endif
