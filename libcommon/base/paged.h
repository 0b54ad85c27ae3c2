/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large arrays of which most is empty. An element of zeros is empty; the memory of a page whose
 * elements are all empty can be freed.
 */
#ifndef EHPERF_BASE_PAGED_H
#define EHPERF_BASE_PAGED_H

#include <stdbool.h>
#include <string.h>

#include "base/array.h"

#define PAGE_ELEMENTS 256

struct paged {
	size_t element_bytes; /* the owner's to set */
	char **pages;         /* NULL: all of its elements are zeros */
	size_t nr, room;
};

/* NULL: it is zeros */
static inline void *paged_find(const struct paged *paged, size_t i)
{
	size_t page = i / PAGE_ELEMENTS;

	return page < paged->nr && paged->pages[page]
		       ? paged->pages[page] + i % PAGE_ELEMENTS * paged->element_bytes
		       : NULL;
}

/* NULL: no memory */
static inline void *paged_get(struct paged *paged, size_t i)
{
	size_t page = i / PAGE_ELEMENTS;

	if (array_reserve(&paged->pages, &paged->room, page + 1))
		return NULL;
	while (paged->nr <= page)
		paged->pages[paged->nr++] = NULL;
	if (!paged->pages[page])
		paged->pages[page] = calloc(PAGE_ELEMENTS, paged->element_bytes);
	return paged_find(paged, i);
}

static inline bool page_is_empty(const struct paged *paged, size_t page)
{
	const char *bytes = paged->pages[page];

	/* the first is zero, and each of the others is as the one before */
	return !bytes[0] && !memcmp(bytes, bytes + 1, PAGE_ELEMENTS * paged->element_bytes - 1);
}

/* Pointers to elements that are not zeros stay valid. */
static inline void paged_give_back(struct paged *paged)
{
	for (size_t page = 0; page < paged->nr; page++)
		if (paged->pages[page] && page_is_empty(paged, page)) {
			free(paged->pages[page]);
			paged->pages[page] = NULL;
		}
}

static inline void paged_free(struct paged *paged)
{
	for (size_t page = 0; page < paged->nr; page++)
		free(paged->pages[page]);
	free(paged->pages);
}

#endif
