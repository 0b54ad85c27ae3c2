/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares numbers of one type. */
#ifndef EHPERF_BASE_ORDER_H
#define EHPERF_BASE_ORDER_H

#include <stdint.h>

/*
 * for qsort(): -1, 0 or 1, as left is less than, equal to, or greater than right. Evaluates them
 * twice
 */
#define order_of(left, right) (((left) > (right)) - ((left) < (right)))

/* for qsort() and bsearch() of uint64_t: the least first */
static inline int order_numbers(const void *left, const void *right)
{
	return order_of(*(const uint64_t *)left, *(const uint64_t *)right);
}

/*
 * Of max, of which all together have `all`, and one has `own`: what the others have left, its own
 * part included
 */
static inline uint64_t left_by_others(uint64_t own, uint64_t all, uint64_t max)
{
	uint64_t others = all - own;

	return others < max ? max - others : 0;
}

/* value, but at least `least` and at most `most` */
#define clamped(value, least, most)                                                   \
	({                                                                            \
		__typeof__(value) value_ = (value), least_ = (least), most_ = (most); \
		if (value_ > most_)                                                   \
			value_ = most_;                                               \
		value_ < least_ ? least_ : value_;                                    \
	})

#endif
