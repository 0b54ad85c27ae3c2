/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory in slabs (bpf/slabs_abi.h), handed out in extents that loc_t names. Where a slab comes from is
 * the source's business: maps that the kernel reads too (bpf/slab_maps.h), or plain memory.
 */
#ifndef EHPERF_TABLE_SLABS_H
#define EHPERF_TABLE_SLABS_H

#include <stddef.h>
#include <stdint.h>

#include "slabs_abi.h"

struct slabs;

struct slab_source {
	/* SLAB_VALUE_SIZE zeroed bytes, which are to be slab `number` (0, 1, 2, ...): 0 or -errno. Not freed by slabs_free(). */
	int (*add)(void *arg, uint32_t number, uint8_t **bytes);
	void *arg;
};

/* 0 or -ENOMEM */
int slabs_new(struct slabs **slabs, struct slab_source source);
void slabs_free(struct slabs *slabs);

/* size bytes, aligned to EXTENT_ALIGNMENT, in one slab: its loc, 0 with errno set where there is no room */
loc_t slabs_alloc(struct slabs *slabs, size_t size);
/* what slabs_alloc() gave may be given again; nobody may still rely on what is in it */
void slabs_release(struct slabs *slabs, loc_t loc, size_t size);

/* all that was handed out is free again */
void slabs_reset(struct slabs *slabs);

/* the memory at loc, which may be read SLAB_SLACK bytes far; NULL where no slab is */
void *slabs_at(const struct slabs *slabs, loc_t loc);

#endif
