/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions: a process's code that lies in no file, one for each mapping. A runtime has written it
 * there, as PCRE2 and PyPy do. A worker reads a region when a stack ends in it, and its table lies
 * in the slabs, as those of files do. When a stack ends there again, the region is read again, for
 * the code may have changed: after pauses that double, and not for ever.
 */
#ifndef EHPERF_UNWIND_REGIONS_H
#define EHPERF_UNWIND_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc_maps.h"
#include "unwind/tables.h"

/* those of a process that were read; {} at first */
struct regions {
	struct region *of;
	size_t nr, room;
	unsigned nr_hopeless; /* in which there is nothing to find, with those that are gone */
	uint64_t resume_ns;   /* when one may be read again; 0: none waits for that */
};

/*
 * The place of the region's struct published_module, which a new list uses from now on; 0: the
 * region is not read. mapping: anonymous
 */
loc_t regions_use(const struct regions *regions, struct tables *tables,
		  const struct proc_mapping *mapping);
/* Forgets the regions that are not among these mappings any more. */
void regions_forget(struct regions *regions, struct tables *tables, const struct proc_maps *maps);
void regions_free(struct regions *regions, struct tables *tables);

/*
 * A walk has ended in a region, the mapping with this number. Reads it, and gives the mapping its
 * table. False: a walk by this mapping would find nothing new. *given_up: the region has changed so
 * often that it is not read any more
 */
bool regions_want(struct regions *regions, struct tables *tables, pid_t pid,
		  struct published_mapping *mapping, uint64_t number, bool *given_up);
/* Stacks that end in regions whose pauses are over ask for them from now on. */
void regions_resume(struct regions *regions, struct tables *tables);

#endif
