/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs on tracepoints ("tp_btf/...") write per-CPU values, and must not be preempted meanwhile
 * by another program that writes the same values. From 7.0 on they can be, unless the tracepoint
 * itself is hit with preemption disabled, as those of the scheduler are (sched_switch,
 * sched_wakeup).
 */
#ifndef EHPERF_PREEMPTION_BPF_H
#define EHPERF_PREEMPTION_BPF_H

#include "kernel.bpf.h"

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

struct bpf_subprog_info___sleep {
	bool might_sleep;
} __attribute__((preserve_access_index));

/*
 * Kernels 6.10 to 6.14 have bpf_preempt_disable(), but do not track which global functions may
 * sleep, so that they allow no call of a global function after it. They do not need it either.
 */
static __always_inline bool can_be_preempted(void)
{
	return bpf_preempt_disable &&
	       bpf_core_field_exists(struct bpf_subprog_info___sleep, might_sleep);
}

static __always_inline void preemption_off(void)
{
	if (can_be_preempted())
		bpf_preempt_disable();
}

static __always_inline void preemption_on(void)
{
	if (can_be_preempted())
		bpf_preempt_enable();
}

#endif
