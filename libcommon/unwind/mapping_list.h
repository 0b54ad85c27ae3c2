/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapping lists of processes in slabs, as the unwinder reads them (processes_abi.h). A list is not changed in
 * place: a new one is written elsewhere, and the old one is released.
 */
#ifndef EHPERF_UNWIND_MAPPING_LIST_H
#define EHPERF_UNWIND_MAPPING_LIST_H

#include "unwind/host_unwind.h"
#include "unwind/mapped_modules.h"
#include "unwind/tables.h"
#include "processes_abi.h"

struct mapping_list {
	loc_t loc;		/* of its struct eh_process; 0: there is none */
	size_t bytes;
};

/*
 * Finds the modules of these mappings and makes their tables. A file that cannot be read gets none. 0 or
 * -ENOMEM
 */
int mapping_list_make_tables(struct tables *tables, const struct proc_maps *maps,
			     struct mapped_modules *mapped);

/*
 * Writes a list of these mappings and of their modules' tables. `mapped` must be up to date with maps. Of
 * `header`, only image, generation (not 0) and changes are used. 0, or -errno with *list unchanged
 */
int mapping_list_write(const struct tables *tables, const struct proc_maps *maps,
		       const struct mapped_modules *mapped, const struct eh_process *header,
		       struct mapping_list *list);

/* host_unwind() with this list; makes each TABLE_CODE that the walk turns out to need, and repeats it */
void mapping_list_unwind(struct tables *tables, loc_t list, const struct host_registers *registers,
			 struct host_memory memory, uint32_t max_depth, struct host_stack *stack);

/*
 * Invalidates the list, which walks that are still reading it notice, and frees its memory. *list becomes {}.
 */
void mapping_list_release(const struct tables *tables, struct mapping_list *list);

#endif
