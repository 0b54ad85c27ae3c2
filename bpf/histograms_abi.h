/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms in the kernel: bpf/histograms.bpf.h fills them, libcommon/kernel/histograms.c reads them.
 */
#ifndef EHPERF_HISTOGRAMS_ABI_H
#define EHPERF_HISTOGRAMS_ABI_H

#include <linux/types.h>

#define MAX_SERIES 8192 /* in one run */
/* the number of the one that sums up what would need another one */
#define REST_SERIES MAX_SERIES

/*
 * A series has two slots, one that programs fill and one that user space reads; they swap roles at
 * the end of each interval (a turn).
 */
#define SLOT(series, turn) (2 * (series) + (1 & (turn)))
#define NR_SLOTS           SLOT(MAX_SERIES + 1, 0)

#define MAX_BUCKETS      65536 /* that are not empty, of all series, in one turn */
#define NR_BUCKET_COUNTS (2 * MAX_BUCKETS)

/*
 * keys of the map `histograms`: the turn; how many numbers of series were given out, and of buckets
 * in either turn, not all of which are used
 */
enum {
	HISTOGRAMS_TURN,
	HISTOGRAMS_NR,
	HISTOGRAMS_BUCKETS,
	NR_HISTOGRAMS_CONTROLS = HISTOGRAMS_BUCKETS + 2
};

/*
 * CPUs have copies of their own of what follows, or share one with some others: 64 MB are enough for
 * any machine. A power of two
 */
#define MAX_COPIES 32

/* NR_SLOTS of a copy in a row in the map `series_stats` */
struct series_stats {
	__u64 count, errors;
	__u64 total_ns, max_ns;       /* exact */
	__u64 above_min_ns;           /* UINT64_MAX less the minimum: so it rises from 0 */
	__u64 blocked_ns, waiting_ns; /* parts of the total */
	/* part of the count: in no bucket, because the map was full */
	__u64 no_bucket;
};

/*
 * In the map `buckets`, a bucket has a number: that of its count among the NR_BUCKET_COUNTS of each
 * copy, which lie in a row in the map `bucket_counts`. The first MAX_BUCKETS are of even turns.
 */
struct bucket_key {
	__u32 slot;
	/* of histogram_bucket.h, or BUCKET_ERROR + errno: how often a call failed with it */
	__u32 bucket;
};
#define BUCKET_ERROR 0x10000

#endif
