/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was measured, interval by interval: the stacks of the last intervals, or of all since a
 * start, summed up. It copies the stacks that it is given; frames that are equal are kept once.
 *
 * Its memory has a limit. The last interval is always kept; parts that were taken do not count. If
 * intervals take more than a quarter, the oldest are dropped. If all is full, cold stacks are
 * summed up: those that no kept interval has, the coldest first.
 *  1. Stacks that differ only by thread become one, with PID and TID 0. Those with frames in no
 *     file stay.
 *  2. If that is not enough, stacks become one by end reason and flags. Its frame is a
 *     FRAME_SUMMED().
 *  3. If that is not enough, the older half of the intervals is dropped, and step 1 follows.
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
	 * By history_take(): equal to from_ns and lost. By history_take_decaying(): when the first
	 * kept interval began, and all losses since then, without weights.
	 */
	uint64_t first_ns;
	int64_t lost_since_first[MAX_LOSSES];
	/* private */
	struct history *history;
	struct kept_stack **stacks; /* of the entries, and those that have decayed */
	size_t nr_stacks;
};

/*
 * Takes the intervals that ended in (until_ns - last_ns, until_ns]. until_ns 0: until the end of
 * the last one. last_ns 0: all since the start; until_ns must be 0, too. If no such interval is
 * kept, the part is empty, and its from_ns is its until_ns. 0 or -ENOMEM
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
