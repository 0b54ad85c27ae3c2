/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known code (known_code.h) whose FDEs are wrong. It is added to the index before all FDEs, so that
 * its rules apply instead.
 */
#ifndef EHPERF_TABLE_KNOWN_FUNCTIONS_H
#define EHPERF_TABLE_KNOWN_FUNCTIONS_H

#include "dwarf/elf_file.h"
#include "table/fde_index.h"
#include "table/known_code.h"

#define MAX_KNOWN_FUNCTIONS 5

struct known_functions {
	struct known_code pieces[MAX_KNOWN_FUNCTIONS]; /* the index's spans refer to them */
	size_t nr;
	bool has_stg_run; /* it is a program of GHC's */
};

/* k is zeroed, and must outlive the index. 0 or -ENOMEM */
int known_functions_add(struct known_functions *k, struct fde_index *index, struct elf_file *file);
/*
 * Adds known code that is found by its FDE, and not by an export; it has one of these lengths. 0 or
 * -ENOMEM
 */
static inline bool known_functions_has_length(uint64_t length)
{
	return length == RETURN_THUNK_BYTES || length == STG_RUN_BYTES;
}
int known_functions_add_fde(struct known_functions *k, struct fde_index *index,
			    const struct elf_file *file, const struct fde *fde);
/* Adds the entries of .plt, if the machine's linkers write no CFI for them. 0 or -ENOMEM */
int known_functions_add_plt(struct fde_index *index, const struct elf_file *file);

#endif
