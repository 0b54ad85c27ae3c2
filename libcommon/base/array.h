/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that grow: a pointer to the elements and the number of elements there is room for, kept by
 * the caller.
 */
#ifndef EHPERF_BASE_ARRAY_H
#define EHPERF_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define ARRAY_FIRST_ROOM 16

/*
 * Grows the array to at least `wanted` elements of `size` bytes and updates *room: the array, which
 * may move, or NULL
 */
static inline void *array_grown(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room ? *room : ARRAY_FIRST_ROOM;

	if (array && wanted <= *room)
		return array;
	while (more < wanted && !__builtin_mul_overflow(more, 2, &more))
		;
	if (more < wanted)
		return NULL;
	array = reallocarray(array, more, size);
	if (array)
		*room = more;
	return array;
}

/*
 * Makes room for `wanted` elements in all. `array` is the address of the pointer (NULL at first),
 * `room` the address of a size_t (0 at first). Room doubles, so that adding n elements one by one
 * takes time in O(n); new elements are not initialised. The caller frees the array. 0, or -ENOMEM
 * with the array unchanged.
 */
#define array_reserve(array, room, wanted)                                                 \
	({                                                                                 \
		void *grown_ = array_grown(*(array), (room), (wanted), sizeof(**(array))); \
		if (grown_)                                                                \
			*(array) = grown_;                                                 \
		grown_ ? 0 : -ENOMEM;                                                      \
	})

#endif
