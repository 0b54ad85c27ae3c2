/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapping lists of processes in slabs, as the unwinder reads them (processes_abi.h). In place,
 * only a mapping's module (regions.c) and end (mapping_list_cut()) change, and what is learnt later
 * in the header (publisher.c). For any other change a new list is written to other memory, and the
 * old one is released.
 */
#ifndef EHPERF_UNWIND_MAPPING_LIST_H
#define EHPERF_UNWIND_MAPPING_LIST_H

#include "unwind/host_unwind.h"
#include "unwind/mapped_modules.h"
#include "unwind/tables.h"
#include "processes_abi.h"

struct regions;

struct mapping_list {
	loc_t loc; /* of its struct published_process; 0: there is none */
	size_t bytes;
	unsigned *nr_users; /* NULL: it is not shared */
};

/*
 * Finds the modules of these mappings, and makes their tables or asks workers for them. A file that
 * cannot be read gets no table. 0 or -ENOMEM
 */
int mapping_list_make_tables(struct tables *tables, const struct proc_maps *maps,
			     struct mapped_modules *mapped);

/* what a list is to say */
struct mapping_contents {
	struct process_image image;
	uint32_t generation, changes; /* generation: not 0 */
	bool refused;
	uint64_t quiet_until_ns;
	struct published_runtimes runtimes;
	const struct proc_maps *maps;
	const struct mapped_modules *mapped; /* up to date with maps */
	/*
	 * for anonymous code. generated: the struct published_module of the runtime that generates
	 * it. If it is 0: regions, which may be NULL
	 */
	loc_t generated;
	const struct regions *regions;
};

/* Writes a list with the tables that its modules have. 0, or -errno with *list unchanged */
int mapping_list_write(struct tables *tables, const struct mapping_contents *contents,
		       struct mapping_list *list);

/*
 * The offset that mappings of generated code use instead of an offset in a file: a function of the
 * address.
 */
static inline uint64_t anonymous_offset(uint64_t address)
{
	return address & ((1ULL << 44) - 1); /* with a page's number in 32 bits */
}

/*
 * Cuts mappings of the list at `loc`, which was made from maps and mapped: those of files that were
 * compiled after that (elf_file_as_loaded()).
 */
void mapping_list_cut(struct tables *tables, const struct proc_maps *maps,
		      const struct mapped_modules *mapped, loc_t loc);

/*
 * host_unwind(), and asks for the tables that the walk needs. stack->wants_table: the module whose
 * table is being made
 */
void mapping_list_unwind(struct tables *tables, loc_t list, const struct host_registers *registers,
			 struct host_memory memory, uint32_t max_depth, struct host_stack *stack);

/*
 * Keeps the list's memory at least until mapping_list_unshare(): user space can still unwind by it
 * after it was replaced. 0 or -ENOMEM
 */
int mapping_list_share(struct mapping_list *list, struct mapping_list *share);
void mapping_list_unshare(struct tables *tables, struct mapping_list *share);
/*
 * Invalidates the list, so that walks in the kernel that are reading it notice, and frees its
 * memory, unless it is shared. *list becomes {}.
 */
void mapping_list_release(struct tables *tables, struct mapping_list *list);

#endif
