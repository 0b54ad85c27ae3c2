/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches sorted arrays for the element that covers an address. */
#ifndef EHPERF_BASE_SEARCH_H
#define EHPERF_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * how many of nr sorted elements have a key of at most `value`; the key is a uint64_t, at offset
 * `key` of each element
 */
static inline size_t count_sorted_up_to(const void *elements, size_t nr, size_t element_bytes,
					size_t key, uint64_t value)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)elements + middle * element_bytes + key) <=
		    value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* count_sorted_up_to() for an array of structs, whose member `key` is a uint64_t */
#define count_up_to(array, nr, key, value)                                                       \
	count_sorted_up_to((array), (nr), sizeof(*(array)), offsetof(__typeof__(*(array)), key), \
			   (value))

/*
 * how many have a key below value, of any integer type: where the first other one is, or would be
 */
#define count_below(array, nr, key, value)                          \
	({                                                          \
		size_t low_ = 0, high_ = (nr);                      \
		while (low_ < high_) {                              \
			size_t middle_ = low_ + (high_ - low_) / 2; \
			if ((array)[middle_].key < (value))         \
				low_ = middle_ + 1;                 \
			else                                        \
				high_ = middle_;                    \
		}                                                   \
		low_;                                               \
	})

#endif
