// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/slabs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* released extents by size: list i holds those of 2^i to 2^(i+1) - 1 bytes */
#define NR_FREE_LISTS	(SLAB_SHIFT + 1)

struct slab {
	uint8_t *bytes;
	size_t used;
};

struct free_list {
	loc_t *locs;
	size_t nr, max;
};

struct slabs {
	struct slab_source source;
	size_t nr;
	size_t current;		/* the ones after it are untouched */
	struct slab slabs[NR_SLABS];
	struct free_list free[NR_FREE_LISTS];
};

int slabs_new(struct slabs **slabs, struct slab_source source)
{
	struct slabs *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->source = source;
	*slabs = s;
	return 0;
}

void slabs_free(struct slabs *slabs)
{
	if (!slabs)
		return;
	for (size_t i = 0; i < NR_FREE_LISTS; i++)
		free(slabs->free[i].locs);
	free(slabs);
}

static int add_slab(struct slabs *slabs)
{
	struct slab slab = { .used = slabs->nr ? 0 : EXTENT_ALIGNMENT };	/* loc 0 means none */
	int error;

	if (slabs->nr == NR_SLABS)
		return -ENOSPC;
	error = slabs->source.add(slabs->source.arg, slabs->nr, &slab.bytes);
	if (error)
		return error;
	slabs->slabs[slabs->nr++] = slab;
	return 0;
}

static loc_t reuse(struct slabs *slabs, size_t size)
{
	/* the first list all of whose extents are large enough */
	unsigned list = 64 - __builtin_clzl(size - 1);

	if (list < NR_FREE_LISTS && slabs->free[list].nr)
		return slabs->free[list].locs[--slabs->free[list].nr];
	return 0;
}

loc_t slabs_alloc(struct slabs *slabs, size_t size)
{
	struct slab *slab;
	loc_t loc;
	int error;

	size = extent_bytes(size ? size : 1);
	if (size > SLAB_BYTES - EXTENT_ALIGNMENT) {
		errno = E2BIG;
		return 0;
	}
	loc = reuse(slabs, size);
	if (loc)
		return loc;
	/* the current slab, and a few before it that may have room for something small */
	for (size_t i = slabs->current > 3 ? slabs->current - 3 : 0; ; i++) {
		if (i == slabs->nr) {
			error = add_slab(slabs);
			if (error) {
				errno = -error;
				return 0;
			}
		}
		slab = &slabs->slabs[i];
		if (i > slabs->current)
			slabs->current = i;
		if (size <= SLAB_BYTES - slab->used)
			break;
	}
	loc = (slab - slabs->slabs) << SLAB_SHIFT | slab->used;
	slab->used += size;
	return loc;
}

void slabs_release(struct slabs *slabs, loc_t loc, size_t size)
{
	struct free_list *list;

	if (!loc)
		return;
	size = extent_bytes(size ? size : 1);
	list = &slabs->free[63 - __builtin_clzl(size)];
	/* without memory it is not reused, which does no harm */
	if (!array_reserve(&list->locs, &list->max, list->nr + 1))
		list->locs[list->nr++] = loc;
}

void slabs_reset(struct slabs *slabs)
{
	for (size_t i = 0; i < slabs->nr; i++)
		slabs->slabs[i].used = i ? 0 : EXTENT_ALIGNMENT;
	for (size_t i = 0; i < NR_FREE_LISTS; i++)
		slabs->free[i].nr = 0;
	slabs->current = 0;
}

void *slabs_at(const struct slabs *slabs, loc_t loc)
{
	return LOC_SLAB(loc) < slabs->nr ? slabs->slabs[LOC_SLAB(loc)].bytes + LOC_OFFSET(loc) : NULL;
}
