/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mapupdlat's programs gather (bpf/mapupdlat_abi.h): read, printed, and what was not measured told. */
#ifndef EHPERF_MAPUPDLAT_MAP_LATENCY_H
#define EHPERF_MAPUPDLAT_MAP_LATENCY_H


#include <stdbool.h>
#include <stdint.h>

#include "bpf/histograms.h"
#include "run/session.h"

struct map_latency_options {
	const struct histogram_unit *unit;
	uint64_t interval_ns;		/* 0: all is one */
	uint64_t nr_intervals;		/* 0: no limit */
	bool timestamps, json;
	bool *measuring;		/* the programs', who begin no call where it is false */
	bool heatmap;			/* instead of histograms; to the session's output */
};

struct map_latency;

/* For an opened session, in whose run it takes part. Errors are the session's, as to what was being done. 0 or -errno */
int map_latency_new(struct map_latency **latency, struct stack_session *session, const struct map_latency_options *options);
void map_latency_free(struct map_latency *latency);

/* with no program attached any more: prints the rest and the summary. 0 or -errno */
int map_latency_finish(struct map_latency *latency);

#endif
