/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timed calls (bpf/timed_calls.bpf.h) that have not returned when measuring ends. */
#ifndef EHPERF_RUN_CALLS_IN_FLIGHT_H
#define EHPERF_RUN_CALLS_IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/series.h"

struct bpf_object;

/* what a tool measures calls by, and those in flight at the end */
struct calls_in_flight {
	void *records;			/* NULL: not listed yet */
	size_t nr, record_bytes;	/* each a struct call_in_flight and the tool's key */
	uint64_t listed_ns;		/* CLOCK_MONOTONIC */
	/* set by the tool: its BPF program's flag, its object, and the bytes of its SERIES_KEY, a multiple of 8 */
	bool *measuring;
	struct bpf_object *object;
	size_t key_bytes;
};

/*
 * Ends measuring and lists these calls, unless that is done already. If it fails, the tool still counts them. To be used as
 * .stop of struct histogram_tool, with in_flight as its .arg
 */
void calls_in_flight_stop(void *in_flight);
void calls_in_flight_free(struct calls_in_flight *in_flight);

/* Prints the number of calls that had not returned, and the first of them, to standard error. */
void calls_in_flight_say(const struct calls_in_flight *in_flight, uint64_t count,
			 struct series_title (*title)(const void *key));

#endif
