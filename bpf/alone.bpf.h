/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs on user functions ("uprobe") can be preempted, as the thread that calls the function. If
 * preemption cannot be disabled (preemption.bpf.h), a second program on the CPU must not use the
 * per-CPU data that the first one is using:
 *
 *	if (!alone_begin())
 *		return 0;
 *	...
 *	alone_end();
 */
#ifndef EHPERF_ALONE_BPF_H
#define EHPERF_ALONE_BPF_H

#include "kernel.bpf.h"
#include "preemption.bpf.h"

ONE_PER_CPU(__u32) in_use SEC(".maps");
__u64 lost_preempting; /* programs that came second */

/*
 * False: another program is running on this CPU. The event is counted as lost, and the caller must
 * return at once.
 */
static __always_inline bool alone_begin(void)
{
	__u32 zero = 0, *used;

	preemption_off();
	used = bpf_map_lookup_elem(&in_use, &zero);
	if (used && !__sync_lock_test_and_set(used, 1))
		return true;
	__sync_fetch_and_add(&lost_preempting, 1);
	preemption_on();
	return false;
}

static __always_inline void alone_end(void)
{
	__u32 zero = 0, *used = bpf_map_lookup_elem(&in_use, &zero);

	if (used)
		*(volatile __u32 *)used = 0;
	preemption_on();
}

#endif
