/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that are in none of mapupdlat's histograms, and the stacks that are not with them: counted, and told why. */
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
	struct map_call_in_flight *calls;	/* NULL: not listed */
	size_t nr;
	uint64_t listed_ns;		/* CLOCK_MONOTONIC */
};

/* Lists them, once measuring is over. That this fails is no error: they are counted too. */
void calls_in_flight_list(struct calls_in_flight *in_flight, struct bpf_object *object);
void calls_in_flight_free(struct calls_in_flight *in_flight);

/*
 * With no program attached any more. calls: how many were added to histograms, or found none; stacks: what of them was
 * lost. The first one is the calls in flight. 0 or -errno
 */
int map_losses_read(struct loss losses[NR_MAP_LOSSES], struct bpf_object *object, const struct stack_stats *stacks, uint64_t calls);

/* on standard error: how many calls had not returned, and some of them */
void calls_in_flight_say(const struct calls_in_flight *in_flight, uint64_t count);

#endif
