/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wall-clock time of each key, by what it was spent with. Samples share the time that their
 * thread ran equally, so that all adds up to the threads' lives. Idle waits are in the sums of
 * lives alone.
 */
#ifndef EHPERF_WALLPROF_WALL_SUMS_H
#define EHPERF_WALLPROF_WALL_SUMS_H

#include <stdint.h>

#include "wallprof/wall.h"

struct key_sums {
	uint64_t ns[NR_WALL_STATES];
	uint64_t waited_for_ns; /* blocked time that this key ended, as a waker, */
	uint64_t nr_woken;      /* in so many periods */
	uint64_t nr_blocked;    /* periods of this key */
	uint64_t nr;            /* samples, and periods blocked or waiting */
};

/* of a life: what belongs to no key */
struct life_sums {
	uint64_t ns[NR_WALL_STATES];
	uint64_t blocked_ns[16]; /* ns[WALL_BLOCKED] by enum thread_state */
	uint64_t unsampled_ns;   /* ran without being sampled */
};

struct wall_sums {
	struct key_sums *keys; /* by the keys' numbers, 0 included */
	struct life_sums *lives;
};

/* 0 or -errno */
int wall_sums_make(struct wall_sums *sums, const struct wall *wall);
void wall_sums_free(struct wall_sums *sums);

#endif
