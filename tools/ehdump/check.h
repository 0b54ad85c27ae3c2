/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the rules that the kernel finds with those of user space and of the exact CFI, for every
 * row of a file.
 */
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

/* Uploads the table, which replaces the one before. 0 or -errno */
int checker_upload(struct checker *checker, const struct unwind_table *table);
/*
 * Compares the kernel's rules from the uploaded table, the table's own, and the file's exact rows.
 * 0, even if they differ, or -errno if they could not be compared.
 */
int checker_compare(struct checker *checker, struct elf_file *file,
		    const struct unwind_table *table, struct check_result *result);

#endif
