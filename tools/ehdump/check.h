/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the kernel what user space and the exact CFI say, for every row of a file. */
#ifndef EHPERF_EHDUMP_CHECK_H
#define EHPERF_EHDUMP_CHECK_H

#include <bpf/libbpf.h>

#include "dwarf/elf_file.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

struct checker;

struct check_result {
	uint64_t lookups, differences;
	/* the first difference */
	uint64_t file_offset;
	struct eh_rule exact, user, kernel;
};

/* for a loaded object of ehdump.bpf.c. 0 or -errno */
int checker_new(struct checker **checker, struct bpf_object *object);
void checker_free(struct checker *checker);

/* Uploads the table, in the place of the one before. 0 or -errno */
int checker_upload(struct checker *checker, const struct unwind_table *table);
/*
 * Compares the kernel's answers from what was uploaded, the table's and the file's exact rows. 0, also where they
 * differ, or -errno where they could not be compared.
 */
int checker_compare(struct checker *checker, struct elf_file *file, const struct unwind_table *table,
		    struct check_result *result);

#endif
