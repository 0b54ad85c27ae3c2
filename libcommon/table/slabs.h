/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory in slabs (bpf/slabs_abi.h), handed out in extents that loc_t names. Slabs come from a
 * source: maps that the kernel reads too (kernel/slab_maps.h), or plain memory.
 */
#ifndef EHPERF_TABLE_SLABS_H
#define EHPERF_TABLE_SLABS_H

#include <stddef.h>
#include <stdint.h>

#include "base/user_room.h"
#include "slabs_abi.h"

/* what extents are aligned to, and rounded up to */
#define EXTENT_ALIGNMENT 16

static inline size_t extent_bytes(size_t size)
{
	return (size + EXTENT_ALIGNMENT - 1) / EXTENT_ALIGNMENT * EXTENT_ALIGNMENT;
}

struct slabs;

struct slab_source {
	/*
	 * Sets *bytes to SLAB_VALUE_SIZE zeroed bytes for slab `number` (0, 1, 2, ...), which
	 * slabs_free() does not free. 0 or -errno
	 */
	int (*add)(void *arg, uint32_t number, uint8_t **bytes);
	void *arg;
	uint32_t max; /* most slabs; 0: NR_SLABS */
};

/* 0 or -ENOMEM */
int slabs_new(struct slabs **slabs, struct slab_source source);
void slabs_free(struct slabs *slabs);

/*
 * size bytes, aligned to EXTENT_ALIGNMENT, in one slab: its loc, 0 with errno set where there is no
 * room. An allocation gets at most a sixteenth of what is left, so that there is room for small
 * ones after many large ones.
 */
loc_t slabs_alloc(struct slabs *slabs, size_t size);
/*
 * Frees what slabs_alloc(slabs, size) returned. It may be allocated again at once: a walk that
 * still reads it must notice that, as by the generation in processes_abi.h.
 */
void slabs_release(struct slabs *slabs, loc_t loc, size_t size);

/* Frees all extents. The slabs stay, and so do the users' counts of bytes. */
void slabs_reset(struct slabs *slabs);

/* The user's share of all memory in the slabs. Valid until slabs_free(). NULL: no memory */
struct room_user *slabs_user(struct slabs *slabs, uint32_t uid);
/*
 * slabs_alloc() and slabs_release() that count the bytes as this user's; NULL: as nobody's. With
 * errno EDQUOT, slabs_take() returns 0: the user's share is used up.
 */
loc_t slabs_take(struct slabs *slabs, size_t size, struct room_user *user);
void slabs_give(struct slabs *slabs, loc_t loc, size_t size, struct room_user *user);

/*
 * the memory at loc, of which SLAB_SLACK bytes can always be read; NULL where there is no such slab
 */
void *slabs_at(const struct slabs *slabs, loc_t loc);

#endif
