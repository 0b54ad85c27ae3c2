/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the calls that are missing in mapupdlat's histograms, and missing stacks, by cause. */
#ifndef EHPERF_MAPUPDLAT_MAP_LOSSES_H
#define EHPERF_MAPUPDLAT_MAP_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "mapupdlat_abi.h"
#include "report/losses.h"
#include "stacks_abi.h"

struct bpf_object;

#define NR_MAP_LOSSES 14

/*
 * Call when no program is attached any more. calls: how many were added to histograms, or lost because there was no room for one;
 * stacks: the session's counters. losses[0] is the calls in flight. 0 or -errno
 */
int map_losses_read(struct loss losses[NR_MAP_LOSSES], struct bpf_object *object,
		    const struct stack_stats *stacks, uint64_t calls);

#endif
