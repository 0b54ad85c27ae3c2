/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing arrays: room for a known number of elements, at least doubled each time. */
#ifndef EHPERF_DWARF_ARRAY_H
#define EHPERF_DWARF_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* *array, malloc()ed or NULL, has room for *max elements of `size` bytes; makes that at least nr. 0 or -ENOMEM: unchanged then */
static inline int array_reserve_bytes(void **array, size_t *max, size_t nr, size_t size)
{
	size_t more = *max ? *max : 64;
	void *bigger;

	if (__builtin_expect(nr <= *max, 1))
		return 0;
	while (more < nr)
		more *= 2;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*max = more;
	return 0;
}

/* array: a pointer variable */
#define array_reserve(array, max, nr) array_reserve_bytes((void **)&(array), &(max), nr, sizeof(*(array)))

#endif
