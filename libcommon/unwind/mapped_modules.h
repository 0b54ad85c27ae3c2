/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which module each mapping of a process belongs to. Finding a module takes opening its file, so
 * the results are kept from one version of the mappings to the next.
 */
#ifndef EHPERF_UNWIND_MAPPED_MODULES_H
#define EHPERF_UNWIND_MAPPED_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "process/proc_maps.h"
#include "unwind/modules.h"

struct mapped_module {
	uint64_t number, end; /* proc_mapping's */
	uint32_t module_id;   /* 0: anonymous memory, or its file could not be identified */
};

struct mapped_modules {
	struct mapped_module *of; /* of[i] belongs to maps->mappings[i] of the last update */
	size_t nr;
};

/*
 * Updates *mapped, {} at first, to maps: a later version of the mappings it was made from. Mappings
 * without a module are looked up again each time. 0, or -ENOMEM with *mapped unchanged
 */
int mapped_modules_update(struct mapped_modules *mapped, struct modules *modules,
			  const struct proc_maps *maps);
/* 0 or -ENOMEM */
int mapped_modules_copy(struct mapped_modules *copy, const struct mapped_modules *mapped);
void mapped_modules_free(struct mapped_modules *mapped);

#endif
