/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the text: each 0 or -errno. */
#ifndef EHPERF_WALLPROF_WALL_TEXT_H
#define EHPERF_WALLPROF_WALL_TEXT_H

#include "wallprof/wall.h"
#include "wallprof/wall_sums.h"

#define DEFAULT_TOP 10 /* stacks and wakers */

/* a line for each thread, with what it did when */
int wall_text_lives(const struct wall *wall, const struct wall_sums *sums);
/* the threads that were waited for longest, and for which threads they waited themselves */
int wall_text_wakers(const struct wall *wall, const struct wall_sums *sums);

static inline size_t wall_text_top(const struct wall *wall)
{
	return wall->writer.top ? wall->writer.top : DEFAULT_TOP;
}

#endif
