/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of numbers that were asked for recently, each with a value: a new pair takes the place of
 * an older one. All zero at first.
 */
#ifndef EHPERF_BASE_RECENT_H
#define EHPERF_BASE_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#define RECENT_PAIRS 4096

struct recent_pair {
	uint64_t first, second; /* second is not 0 */
	uint64_t value;
};

/*
 * The pair's place, which is the pair's from now on. *known: it was before, and .value is what the
 * caller has put there
 */
static inline struct recent_pair *recent_place(struct recent_pair pairs[RECENT_PAIRS],
					       uint64_t first, uint64_t second, bool *known)
{
	uint64_t hash = (second ^ first << 20) * 0x9e3779b97f4a7c15;
	struct recent_pair *pair = &pairs[hash >> 52];

	*known = pair->first == first && pair->second == second;
	pair->first = first;
	pair->second = second;
	return pair;
}

#endif
