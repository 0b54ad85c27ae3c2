/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's mapping list and the tables of the files in it, written into slabs as the walk reads them. */
#ifndef EHPERF_UNWIND_IMAGES_H
#define EHPERF_UNWIND_IMAGES_H

#include "unwind/host_unwind.h"
#include "unwind/modules.h"
#include "table/slabs.h"
#include "processes_abi.h"

/* Finds the modules of mappings that have none yet. What cannot be found is left, for another time. 0 or -ENOMEM */
int image_find_modules(struct modules *modules, struct proc_maps *maps);

/* the same, and their tables, into the slabs. 0 or -ENOMEM */
int image_make_tables(struct slabs *slabs, struct modules *modules, struct proc_maps *maps);

/*
 * Writes the list: *loc of a struct eh_process, in *bytes of the slabs. What of these mappings has no table
 * yet is written without. 0 or -errno
 */
int image_write(struct slabs *slabs, struct modules *modules, const struct proc_maps *maps, const struct eh_image *image,
		uint32_t changes, uint32_t generation, loc_t *loc, size_t *bytes);

/* host_unwind(), which makes the tables of uncovered code that it wants */
void image_unwind(struct slabs *slabs, struct modules *modules, loc_t process, const struct host_registers *registers,
		  struct host_memory memory, uint32_t max_depth, struct host_stack *stack);

/* It is nobody's from now on, and a walk that is on it will see that. */
void image_release(struct slabs *slabs, loc_t loc, size_t bytes);

#endif
