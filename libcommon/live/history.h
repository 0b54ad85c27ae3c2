/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was measured, interval by interval: the stacks of the last intervals, or of all since a
 * start, summed up. It copies the stacks that it is given, equal ones once.
 *
 * Its memory is bounded. Intervals may take a quarter of it; beyond that, the oldest are dropped.
 * When it is full, the coldest stacks that no kept interval has are summed up over all threads:
 * such a sum has PID and TID 0. If that is not enough, such stacks are summed up by end reason and
 * flags: the frame of such a sum is a FRAME_SUMMED(). If that is not enough either, older intervals
 * are dropped, and it begins again.
 */
#ifndef EHPERF_LIVE_HISTORY_H
#define EHPERF_LIVE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/losses.h"
#include "report/measure.h"
#include "report/stack_entry.h"

struct history;

/* Times are CLOCK_MONOTONIC. max_bytes: approximate. NULL: no memory */
struct history *history_new(const struct measure *measure, uint64_t began_ns, size_t max_bytes);
void history_free(struct history *history);

/*
 * Adds what came, and what was lost, from the end of the last interval until now. lost[i]: in row i
 * of the table of losses. A negative number corrects earlier intervals, which counted too many. 0
 * or -ENOMEM
 */
int history_add(struct history *history, const struct stack_entry *entries, size_t nr,
		const int64_t lost[MAX_LOSSES], uint64_t until_ns);
/* Forgets all: the start is the end of the last interval. */
void history_reset(struct history *history);

struct kept_stack;

/* what was measured in a time */
struct history_part {
	struct stack_entry *entries; /* the caller may change them */
	size_t nr;
	int64_t lost[MAX_LOSSES];
	uint64_t from_ns, until_ns;
	/*
	 * by history_take(): equal to from_ns and lost; by history_take_decaying(): when the first
	 * interval began, and all losses since then, without weights
	 */
	uint64_t first_ns;
	int64_t lost_since_first[MAX_LOSSES];
	/* private */
	struct history *history;
	struct kept_stack **stacks; /* of the entries, and those that have decayed */
	size_t nr_stacks;
};

/*
 * Takes the intervals whose ends are in (until_ns - last_ns, until_ns]. until_ns 0: until the end
 * of the last one. last_ns 0: all since the start, and until_ns must be 0. If none is kept, the
 * part's from_ns is its until_ns. 0 or -ENOMEM
 */
int history_take(struct history *history, uint64_t last_ns, uint64_t until_ns,
		 struct history_part *part);
/*
 * Takes all kept intervals up to until_ns. An interval's weight halves with each half_ns that it is
 * older than the last one. The part's time is weighted, too, so that values divided by it are mean
 * rates.
 */
int history_take_decaying(struct history *history, uint64_t half_ns, uint64_t until_ns,
			  struct history_part *part);
/* To be called before history_free(); {} is allowed */
void history_part_free(struct history_part *part);

/* Calls see() for each user stack in the history, and in the parts that were taken. */
void history_each_stack(const struct history *history, see_frames_fn *see, void *see_arg);

size_t history_bytes(const struct history *history);

#endif
