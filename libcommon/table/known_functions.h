/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known code (machine.h) that FDEs cover and say the wrong thing of. It joins the index of FDEs before all
 * FDEs, so that it rules its bytes.
 */
#ifndef EHPERF_TABLE_KNOWN_FUNCTIONS_H
#define EHPERF_TABLE_KNOWN_FUNCTIONS_H

#include "dwarf/elf_file.h"
#include "table/fde_index.h"
#include "table/machine.h"

#define MAX_KNOWN_FUNCTIONS 4

struct known_functions {
	struct known_code pieces[MAX_KNOWN_FUNCTIONS];	/* the index's spans refer to them */
	size_t nr;
};

/* k is zeroed, and must outlive the index. 0 or -ENOMEM */
int known_functions_add(struct known_functions *k, struct fde_index *index, struct elf_file *file);

#endif
