/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A series: the values of one interval that share a tool's key, as a histogram and its figures. */
#ifndef EHPERF_REPORT_SERIES_H
#define EHPERF_REPORT_SERIES_H

#include "report/histogram.h"

struct errno_count {
	int number;
	uint64_t count;
};

/* one series in one interval */
struct series {
	uint32_t number;
	uint32_t slot; /* its slot in the kernel (bpf/histograms_abi.h); its stacks have the same */
	const void *key; /* the tool's; NULL: the sum of the series for which there was no room */
	struct histogram histogram;
	/* parts of the histogram's count, and of its total_ns */
	uint64_t errors, blocked_ns, waiting_ns;
	uint64_t no_bucket; /* the part of the count that is missing in the buckets */
	struct errno_count *by_errno;
	size_t nr_errnos;
};

/* a series' key as text */
struct series_title {
	char text[256];
};

#endif
