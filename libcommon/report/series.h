/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One histogram of a tool's, and what goes with it. */
#ifndef EHPERF_REPORT_SERIES_H
#define EHPERF_REPORT_SERIES_H

#include "report/histogram.h"

struct errno_count {
	int number;
	uint64_t count;
};

/* what came to it in one interval */
struct series {
	uint32_t number;
	uint32_t slot;		/* where it was filled (bpf/histograms_abi.h), as its stacks say too */
	const void *key;	/* the tool's own */
	struct histogram histogram;
	uint64_t errors, blocked_ns, waiting_ns;	/* errors: of the count; times: of the total */
	uint64_t no_bucket;	/* of the count, missing in the buckets */
	struct errno_count *by_errno;
	size_t nr_errnos;
};

/* what a series is called: what its key says */
struct series_title {
	char text[256];
};

#endif
