/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's mapping list, written into slabs as the walk reads it (processes_abi.h). A list is never changed where
 * it lies: a new one is written beside it, and the old one is released.
 */
#ifndef EHPERF_UNWIND_IMAGES_H
#define EHPERF_UNWIND_IMAGES_H

#include "unwind/host_unwind.h"
#include "unwind/mapped_modules.h"
#include "unwind/tables.h"
#include "processes_abi.h"

struct image_list {
	loc_t loc;		/* of its struct eh_process; 0: there is none */
	size_t bytes;
	unsigned *nr_users;	/* NULL: it is not shared */
};

/*
 * Finds the modules of the process's mappings, and makes their tables. A file that cannot be read goes without.
 * 0 or -ENOMEM
 */
int image_make_tables(struct tables *tables, const struct proc_maps *maps, struct mapped_modules *mapped);

/*
 * Writes a list of these mappings and of the tables their modules have by now: `mapped` is up to date with maps.
 * Of `header`, image, generation (not 0) and changes count. 0, or -errno and *list is as it was
 */
int image_write(const struct tables *tables, const struct proc_maps *maps, const struct mapped_modules *mapped,
		const struct eh_process *header, struct image_list *list);

/* host_unwind(), which asks for the TABLE_CODEs that it wants; stack->wants_code: one that is being made */
void image_unwind(struct tables *tables, loc_t list, const struct host_registers *registers, struct host_memory memory,
		  uint32_t max_depth, struct host_stack *stack);

/*
 * Keeps the list's memory until image_unshare(), too: what was valid when it was shared can be walked by on this side even
 * when it has been replaced. 0 or -ENOMEM
 */
int image_share(struct image_list *list, struct image_list *share);
void image_unshare(const struct tables *tables, struct image_list *share);
/* Invalidates the list, so that walks of the kernel's that are reading it notice, and gives its memory back. *list is {} then. */
void image_release(const struct tables *tables, struct image_list *list);

#endif
