/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compact table of one file: pages, rows and rules as in bpf/tables_abi.h, before they are in
 * slabs.
 */
#ifndef EHPERF_TABLE_UNWIND_TABLE_H
#define EHPERF_TABLE_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"
#include "dwarf/eh_frame.h"
#include "dwarf/elf_file.h"

struct unwind_table {
	struct eh_rule *rules;
	struct table_page *pages; /* .rows is an index into rows[] here, not a place in a slab */
	uint8_t *rows;            /* ROW_BYTES each */
	uint32_t nr_rules, nr_pages, first_page;
	uint64_t nr_rows;
	/* the code at the ELF entry point, as offsets in the file; empty if an FDE covers it */
	uint32_t entry_start, entry_end;
	/* there is more code that no FDE covers: unwind_table_build_code() may have rules for it */
	bool has_other_code;
	uint64_t other_code_bytes; /* how many bytes of such code there are to decode */
	/* what the table was made of */
	uint64_t nr_cies, nr_fdes;
	uint64_t nr_placed_fdes; /* FDEs that apply to some byte */
	uint64_t nr_cfi_rows; /* rows of these FDEs, as DWARF counts them, and of Go's functions */
	uint64_t nr_go_functions; /* functions with rows from Go's table */
	uint64_t skipped[NR_EH_FRAME_SKIPS];
};

/*
 * Compiles the file's CFI: .eh_frame and .debug_frame. If the file has Go's table of functions,
 * .debug_frame is not read, and a function of Go's table applies where an FDE begins at the same
 * address. 0, or -ENOENT (neither CFI nor Go's table), -ENOTSUP (another machine's), -EBADMSG (its
 * headers lead outside the file), -EFBIG, -EOVERFLOW (more than a table can hold), -ENOMEM; *table
 * is unchanged on failure. Broken FDEs are counted in skipped[], and the others are in the table.
 * Where FDEs overlap: fde_index.h.
 */
int unwind_table_build(struct unwind_table *table, struct elf_file *file);
/*
 * Builds the table of a file without CFI: it has no pages, only the entry point and has_other_code.
 */
int unwind_table_build_without_cfi(struct unwind_table *table, const struct elf_file *file);
/*
 * Builds a table of the code that no FDE covers, with or without CFI in the file, by rules derived
 * from its instructions (code_rules.h). It has pages even where no rule is known.
 */
int unwind_table_build_code(struct unwind_table *table, struct elf_file *file);
/*
 * unwind_table_build() with the CFI in *frame. It uses only the segments and the entry point of the
 * file. 0, -EOVERFLOW or -ENOMEM
 */
int unwind_table_compile(struct unwind_table *table, const struct elf_file *file,
			 struct eh_frame *frame);

/* the source of a rule in a file's table */
enum rule_source {
	SOURCE_NONE,       /* the table of the file's CFI has no rule */
	SOURCE_KNOWN_CODE, /* known_functions.h */
	SOURCE_GO,         /* go_rows.h */
	SOURCE_FDE,
};
/*
 * Gets the source of the rule for an offset in the file. 0, -ENOTSUP, -EOVERFLOW, -EBADMSG or
 * -ENOMEM
 */
int unwind_table_source(struct elf_file *file, uint64_t file_offset, enum rule_source *source);

/* Frees a built table, or a zeroed one, and zeroes it. */
void unwind_table_free(struct unwind_table *table);

/*
 * The rule for an offset in the file, by the same search as the kernel's; RULE_NONE where there is
 * none.
 */
struct eh_rule unwind_table_lookup(const struct unwind_table *table, uint64_t file_offset);

/*
 * The rows of one page must not cross slabs, so rows are written in extents, each for many pages.
 * The pages from `first` up to the returned page, which is not among them, share one extent.
 */
uint32_t unwind_table_extent_end(const struct unwind_table *table, uint32_t first);
/*
 * The bytes that the table takes in the slabs: rows, pages, rules, header, each rounded up as
 * extents are.
 */
uint64_t unwind_table_bytes(const struct unwind_table *table);

#endif
