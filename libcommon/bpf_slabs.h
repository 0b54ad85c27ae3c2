/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slabs (bpf/unwind_abi.h): memory that user space writes through mmap() and BPF programs read through
 * an ARRAY_OF_MAPS. Inserting a slab into it may wait for an RCU grace period; writing never does.
 */
#ifndef EHPERF_BPF_SLABS_H
#define EHPERF_BPF_SLABS_H

#include <stddef.h>

#include "../bpf/unwind_abi.h"

struct slabs;

/* over the ARRAY_OF_MAPS of this fd, which must stay open. 0 or -errno */
int slabs_new(struct slabs **slabs, int outer_fd);
void slabs_free(struct slabs *slabs);

/* size bytes, aligned to EXTENT_ALIGNMENT, in one slab: its loc, 0 with errno set where there is no room */
loc_t slabs_alloc(struct slabs *slabs, size_t size);
/* what slabs_alloc() gave may be given again; nobody may still rely on what is in it */
void slabs_release(struct slabs *slabs, loc_t loc, size_t size);

/* all that was handed out is free again */
void slabs_reset(struct slabs *slabs);

/* the memory at loc */
void *slabs_at(const struct slabs *slabs, loc_t loc);

/* bytes handed out, and bytes of slabs held */
void slabs_usage(const struct slabs *slabs, size_t *used, size_t *held);

#endif
