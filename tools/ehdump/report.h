/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ehdump's output: summaries as text and JSON, rows, tables, a single address. */
#ifndef EHPERF_EHDUMP_REPORT_H
#define EHPERF_EHDUMP_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dwarf/elf_file.h"
#include "table/unwind_table.h"

/* the summary of one file, or, if path is NULL, the total of all */
struct eh_summary {
	const char *path;
	const char *section;
	const char *machine;
	char build_id[129];
	uint64_t files, cies, fdes, rows;
	uint64_t eh_frame_bytes;
	bool has_table; /* files of other machines than this one have none */
	uint64_t table_rows, table_pages, table_rules, table_bytes;
	uint64_t rules_of_kind[NR_RULE_KINDS];
	uint64_t skipped[NR_EH_FRAME_SKIPS];
	bool checked;
	uint64_t lookups, differences;
};

/*
 * Reads the CFI of the file and compiles its table (to be freed; empty if the file is of another
 * machine). 0 or -errno
 */
int eh_summarize(struct eh_summary *summary, const char *path, struct elf_file *file,
		 struct unwind_table *table);
void eh_summary_add(struct eh_summary *total, const struct eh_summary *file);
void eh_summary_print(FILE *out, const struct eh_summary *summary);
void eh_summary_print_json(FILE *out, const struct eh_summary *summary);

/*
 * Prints exact rows, tab-separated under a header line. all_registers: a column for each that
 * occurs. 0 or -errno
 */
int eh_print_rows(FILE *out, struct elf_file *file, bool all_registers);
/*
 * Prints the compact table's rows in the same columns, with their vaddr, and the numbers of their
 * rules.
 */
void eh_print_table(FILE *out, const struct elf_file *file, const struct unwind_table *table);
/*
 * the FDE, the row, the rule and the symbol of a vaddr, and where no FDE covers it, the rule that
 * applies instead; -ENOENT: there is none
 */
int eh_print_address(FILE *out, struct elf_file *file, const struct unwind_table *table,
		     uint64_t vaddr);

#endif
