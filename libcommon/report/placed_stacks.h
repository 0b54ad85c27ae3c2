/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks in which runtimes' frames, which the kernel records behind the native ones, are in their
 * places.
 */
#ifndef EHPERF_REPORT_PLACED_STACKS_H
#define EHPERF_REPORT_PLACED_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/stack_entry.h"
#include "runtimes/runtimes.h"

/* stacks, and entries of wakers, that were made; {} at first */
struct placed_stacks {
	void **all;
	size_t nr, room;
	/* in the order of all_runtimes, weighted by stacks' counts */
	struct runtime_calls calls[MAX_RUNTIMES];
	struct placed_frames *known; /* private */
};

struct placing {
	const struct modules *modules;
	const struct runtime_names *names;
	bool keep_native; /* show the runtimes' own calls, too */
};

/*
 * Replaces user stacks with frames that are to be placed, of each entry and its waker. 0 or
 * -ENOMEM. The new stacks are valid until placed_stacks_free().
 */
int placed_stacks_add(struct placed_stacks *placed, const struct placing *how,
		      struct stack_entry *entries, size_t nr);
void placed_stacks_free(struct placed_stacks *placed);

#endif
