/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The expected results of lookups in a file's compact table, made from exact rows and sorted FDEs,
 * independently of the code that compiles tables.
 */
#ifndef EHPERF_EHDUMP_EXPECT_H
#define EHPERF_EHDUMP_EXPECT_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"
#include "dwarf/elf_file.h"

struct expectation {
	uint64_t file_offset;
	struct eh_rule rule;
};

/*
 * The first and the last byte of every row of every FDE, and of every gap between FDEs, for a file
 * whose executable segments do not overlap: *expected is a malloc()ed array of *nr. 0 or -errno.
 */
int cfi_expect(const struct elf_file *file, struct eh_frame *frame, struct expectation **expected,
	       size_t *nr);

#endif
