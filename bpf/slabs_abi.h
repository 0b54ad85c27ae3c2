/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that user space writes and the kernel reads: slabs, big flat pieces of memory, each the
 * one value of an array map, all of them inner maps of one ARRAY_OF_MAPS, written through mmap(). A
 * `loc` names a byte in them: the slab's number in the upper bits, the byte's offset in the lower.
 */
#ifndef EHPERF_SLABS_ABI_H
#define EHPERF_SLABS_ABI_H

#include <linux/types.h>

#define SLAB_SHIFT 22
#define SLAB_BYTES (1U << SLAB_SHIFT)
/*
 * an object that starts below SLAB_BYTES may be read this far past it, so that masking an offset is
 * check enough
 */
#define SLAB_SLACK      4096
#define SLAB_VALUE_SIZE (SLAB_BYTES + SLAB_SLACK)
#define NR_SLABS        1024

/* slab << SLAB_SHIFT | byte offset; 0, the first byte of slab 0, is never used: "none" */
typedef __u32 loc_t;

#define LOC_SLAB(loc)   ((loc) >> SLAB_SHIFT)
#define LOC_OFFSET(loc) ((loc) & (SLAB_BYTES - 1))

#endif
