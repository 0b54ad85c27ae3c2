// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/slabs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

/*
 * What is left of the room for all slabs must be so many times as much as is asked for: nobody
 * takes the last of it.
 */
#define SHARE_OF_REST 16

struct free_extent {
	uint32_t offset, size;
};

struct slab {
	uint8_t *bytes;
	struct free_extent *free; /* by offset; two never touch */
	size_t nr_free, room;
};

struct slabs {
	struct slab_source source;
	size_t nr;
	uint64_t used; /* bytes */
	struct user_room room;
	struct slab slabs[NR_SLABS];
};

int slabs_new(struct slabs **slabs, struct slab_source source)
{
	struct slabs *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->source = source;
	if (!s->source.max || s->source.max > NR_SLABS)
		s->source.max = NR_SLABS;
	s->room.max = (size_t)s->source.max * SLAB_BYTES;
	*slabs = s;
	return 0;
}

void slabs_free(struct slabs *slabs)
{
	if (!slabs)
		return;
	for (size_t i = 0; i < slabs->nr; i++)
		free(slabs->slabs[i].free);
	user_room_empty(&slabs->room);
	free(slabs);
}

struct room_user *slabs_user(struct slabs *slabs, uint32_t uid)
{
	return user_room_of(&slabs->room, uid);
}

/* All of the slab is free. loc 0 means none */
static void make_empty(struct slabs *slabs, size_t i)
{
	uint32_t from = i ? 0 : EXTENT_ALIGNMENT;

	slabs->slabs[i].free[0] = (struct free_extent){ from, SLAB_BYTES - from };
	slabs->slabs[i].nr_free = 1;
}

static int add_slab(struct slabs *slabs)
{
	struct slab *slab = &slabs->slabs[slabs->nr];
	int error;

	if (slabs->nr == slabs->source.max)
		return -ENOSPC;
	if (array_reserve(&slab->free, &slab->room, 1))
		return -ENOMEM;
	error = slabs->source.add(slabs->source.arg, slabs->nr, &slab->bytes);
	if (error)
		return error;
	make_empty(slabs, slabs->nr++);
	return 0;
}

/* The first extent that is large enough, from its start. 0: there is none */
static loc_t take_from(struct slabs *slabs, size_t i, size_t size)
{
	struct slab *slab = &slabs->slabs[i];

	for (size_t at = 0; at < slab->nr_free; at++) {
		struct free_extent *extent = &slab->free[at];
		loc_t loc = i << SLAB_SHIFT | extent->offset;

		if (extent->size < size)
			continue;
		extent->offset += size;
		extent->size -= size;
		if (!extent->size)
			memmove(extent, extent + 1, (--slab->nr_free - at) * sizeof(*extent));
		slabs->used += size;
		return loc;
	}
	return 0;
}

/* the bytes that are left, in existing slabs and in those that may still be added */
static uint64_t bytes_left(const struct slabs *slabs)
{
	return (uint64_t)slabs->source.max * SLAB_BYTES - slabs->used;
}

loc_t slabs_alloc(struct slabs *slabs, size_t size)
{
	loc_t loc = 0;
	int error = 0;

	size = extent_bytes(size ? size : 1);
	if (size > SLAB_BYTES - EXTENT_ALIGNMENT)
		error = -E2BIG;
	else if (size * SHARE_OF_REST > bytes_left(slabs))
		error = -ENOSPC;
	for (size_t i = 0; !loc && !error; i++) {
		if (i == slabs->nr)
			error = add_slab(slabs);
		if (!error)
			loc = take_from(slabs, i, size);
	}
	errno = -error;
	return loc;
}

/* where the first extent behind the offset is, or would be */
static size_t place_of(const struct slab *slab, uint32_t offset)
{
	return count_below(slab->free, slab->nr_free, offset, offset);
}

void slabs_release(struct slabs *slabs, loc_t loc, size_t size)
{
	struct slab *slab = &slabs->slabs[LOC_SLAB(loc)];
	struct free_extent freed = { LOC_OFFSET(loc), extent_bytes(size ? size : 1) };
	size_t first = place_of(slab, freed.offset), last = first;

	if (!loc)
		return;
	slabs->used -= freed.size;
	if (last < slab->nr_free && slab->free[last].offset == freed.offset + freed.size)
		freed.size += slab->free[last++].size;
	if (first && slab->free[first - 1].offset + slab->free[first - 1].size == freed.offset) {
		freed.offset = slab->free[--first].offset;
		freed.size += slab->free[first].size;
	}
	if (first == last) {
		/* without memory it is not reused, which does no harm */
		if (array_reserve(&slab->free, &slab->room, slab->nr_free + 1))
			return;
		memmove(&slab->free[first + 1], &slab->free[first],
			(slab->nr_free++ - first) * sizeof(freed));
	} else {
		memmove(&slab->free[first + 1], &slab->free[last],
			(slab->nr_free - last) * sizeof(freed));
		slab->nr_free -= last - first - 1;
	}
	slab->free[first] = freed;
}

loc_t slabs_take(struct slabs *slabs, size_t size, struct room_user *user)
{
	loc_t loc;

	if (user && !user_room_has(user, extent_bytes(size))) {
		errno = EDQUOT;
		return 0;
	}
	loc = slabs_alloc(slabs, size);
	if (loc && user)
		user_room_charge(user, extent_bytes(size));
	return loc;
}

void slabs_give(struct slabs *slabs, loc_t loc, size_t size, struct room_user *user)
{
	slabs_release(slabs, loc, size);
	if (loc && user)
		user_room_give(user, extent_bytes(size));
}

void slabs_reset(struct slabs *slabs)
{
	for (size_t i = 0; i < slabs->nr; i++)
		make_empty(slabs, i);
	slabs->used = 0;
}

void *slabs_at(const struct slabs *slabs, loc_t loc)
{
	return LOC_SLAB(loc) < slabs->nr ? slabs->slabs[LOC_SLAB(loc)].bytes + LOC_OFFSET(loc)
					 : NULL;
}
