/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compact table of one file (bpf/tables_abi.h), compiled from its CFI. */
#ifndef EHPERF_TABLE_UNWIND_TABLE_H
#define EHPERF_TABLE_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"
#include "dwarf/eh_frame.h"
#include "dwarf/elf_file.h"

struct unwind_table {
	struct eh_rule *rules;
	struct eh_page *pages;		/* .rows counts rows from rows[0] here, not a loc */
	uint8_t *rows;			/* ROW_BYTES each */
	uint32_t nr_rules, nr_pages, first_page;
	uint64_t nr_rows;
	uint32_t entry_start, entry_end;	/* code at the ELF entry point that no FDE covers, by offset; empty: none */
	bool has_other_code;		/* there is code that no FDE covers */
	/* what it was made of */
	uint64_t nr_cies, nr_fdes;
	uint64_t nr_placed_fdes, nr_cfi_rows;	/* the FDEs that rule some byte, and their exact rows */
	uint64_t skipped[NR_EH_FRAME_SKIPS];
};

/* The pages from `first` on whose rows are to lie in one extent, since they must not cross slabs: the one after the last */
uint32_t unwind_table_extent_end(const struct unwind_table *table, uint32_t first);
/* what extents of the slabs are aligned to, and rounded up to */
#define EXTENT_ALIGNMENT 16
/* the bytes the kernel will hold for it: rows, pages, rules, header, rounding */
uint64_t unwind_table_bytes(const struct unwind_table *table);

/*
 * Compiles the file's .eh_frame. 0, -ENOENT (it has none), -ENOTSUP (not x86-64), -EBADMSG, -ENOMEM.
 * Broken FDEs are counted, not fatal. Where FDEs overlap, the one that starts last rules, as in a
 * search of .eh_frame_hdr.
 */
int unwind_table_build(struct unwind_table *table, struct elf_file *file);
/* for a file that has none: no rule, but the entry point and has_other_code */
int unwind_table_build_without_cfi(struct unwind_table *table, const struct elf_file *file);
/* a table of what no FDE covers, by what the code itself says (code_rules.h); empty where it says nothing */
int unwind_table_build_code(struct unwind_table *table, struct elf_file *file);
/* the rules of CFI from anywhere; of the file, only the segments count. 0, -EOVERFLOW or -ENOMEM */
int unwind_table_compile(struct unwind_table *table, const struct elf_file *file, struct eh_frame *frame);
void unwind_table_free(struct unwind_table *table);

/* the rule for an offset in the file, by the same search as the kernel's; RULE_NONE where there is none */
struct eh_rule unwind_table_lookup(const struct unwind_table *table, uint64_t file_offset);

#endif
