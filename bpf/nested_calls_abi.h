/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits and counters of nested_calls.bpf.h. */
#ifndef EHPERF_NESTED_CALLS_ABI_H
#define EHPERF_NESTED_CALLS_ABI_H

#include <linux/types.h>

/*
 * of a thread at a time: as many as the kernel's return probes (MAX_URETPROBE_DEPTH). A power of
 * two
 */
#define MAX_NESTED_CALLS 64

/* counters of one CPU, summed by user space; all are __u64 */
struct nested_counts {
	__u64 never_returned; /* calls that were left without a return */
	__u64 too_deep;       /* calls within too many others, which are not timed */
};

/* a bit of the cookie of a probe at a function's exit: other functions may leave there, too */
#define EXIT_SHARED (1U << 31)

#endif
