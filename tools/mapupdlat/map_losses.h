/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of the calls that are missing in mapupdlat's histograms, and of missing stacks, by their causes. */
#ifndef EHPERF_MAPUPDLAT_MAP_LOSSES_H
#define EHPERF_MAPUPDLAT_MAP_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "mapupdlat_abi.h"
#include "report/losses.h"
#include "stacks_abi.h"

struct bpf_object;

#define NR_MAP_LOSSES 13

/* the calls that had not returned when measuring ended */
struct calls_in_flight {
	struct map_call_in_flight *calls;	/* NULL: not listed yet */
	size_t nr;
	uint64_t listed_ns;		/* CLOCK_MONOTONIC */
};

/*
 * Lists them, if not done yet; call when measuring is over. Failure is no error, since map_losses_read()
 * counts them.
 */
void calls_in_flight_list(struct calls_in_flight *in_flight, struct bpf_object *object);
void calls_in_flight_free(struct calls_in_flight *in_flight);

/*
 * Call when no program is attached any more. calls: how many were added to histograms, or lost for want of
 * one; stacks: the session's counters. losses[0] is the calls in flight. 0 or -errno
 */
int map_losses_read(struct loss losses[NR_MAP_LOSSES], struct bpf_object *object,
		    const struct stack_stats *stacks, uint64_t calls);

/* Prints the number of calls that had not returned, and the first of them, to standard error. */
void calls_in_flight_say(const struct calls_in_flight *in_flight, uint64_t count);

#endif
