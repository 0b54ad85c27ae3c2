/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which module each mapping of a process is a part of. To find a module its file is opened, so the answers are kept
 * from one version of the process's list to the next.
 */
#ifndef EHPERF_UNWIND_MAPPED_MODULES_H
#define EHPERF_UNWIND_MAPPED_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "process/proc_maps.h"
#include "unwind/modules.h"

struct mapped_module {
	uint64_t number, end;	/* proc_mapping's */
	uint32_t module_id;	/* 0: memory that is no file's, or nothing could be learnt of the file */
};

struct mapped_modules {
	struct mapped_module *of;	/* [i] is of maps->mappings[i], of the maps of the last update */
	size_t nr;
};

/*
 * Brings *mapped, {} at first, in line with maps, an earlier version of which it was made of. Mappings that have no
 * module are asked for again each time. 0, or -ENOMEM and nothing has changed
 */
int mapped_modules_update(struct mapped_modules *mapped, struct modules *modules, const struct proc_maps *maps);
/* 0 or -ENOMEM */
int mapped_modules_copy(struct mapped_modules *copy, const struct mapped_modules *mapped);
void mapped_modules_free(struct mapped_modules *mapped);

#endif
