/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms on their way out of the kernel: bpf/histograms.bpf.h fills them, libcommon/bpf/histograms.c reads them. */
#ifndef EHPERF_HISTOGRAMS_ABI_H
#define EHPERF_HISTOGRAMS_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define MAX_SERIES	1024	/* histograms of one run */

/*
 * A series has two slots, one that is filled and one that is read: intervals take turns. Times are those of
 * whole calls (or whatever it is that takes time).
 */
#define SLOT(series, turn)	((series) * 2 + ((turn) & 1))

/*
 * what is in the map of that name: the turn, how many numbers were given away, some for nothing, and how many times
 * found no series
 */
enum { HISTOGRAMS_TURN, HISTOGRAMS_NR, HISTOGRAMS_LOST, NR_HISTOGRAMS_CONTROLS };

/* per CPU */
struct series_stats {
	__u64 count, errors;
	__u64 total_ns, min_ns, max_ns;		/* exact; min_ns holds only if count does */
	__u64 blocked_ns, waiting_ns;		/* of the total */
	__u64 no_bucket;			/* of the count: in no bucket, the map was full */
};

struct bucket_key {
	__u32 slot;
	__u32 bucket;		/* of histogram_bucket.h, or: */
};
#define BUCKET_ERROR	0x10000	/* + errno: how often a call failed with it */

#endif
