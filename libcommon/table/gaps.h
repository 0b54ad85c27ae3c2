/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes that no FDE covers: the entry point's code, padding, and code whose rules are derived
 * from its instructions (code_rules.h).
 */
#ifndef EHPERF_TABLE_GAPS_H
#define EHPERF_TABLE_GAPS_H

#include <stdbool.h>

#include "table/fde_index.h"
#include "table/row_writer.h"

struct gaps {
	int error; /* sticky: 0 or -ENOMEM */
	struct unwind_table *table;
	const struct elf_file *file;
	/*
	 * Go code whose table of functions cannot be read: the frame pointer is followed where no
	 * rule is known
	 */
	bool keeps_fp;
	struct cfi_states *states;
	struct row_writer *writer;
	uint32_t nothing;              /* the state of no rule */
	bool is_stg;                   /* it is GHC's code (known_stg_rule()) */
	bool of_code;                  /* derive rules; else only set table->has_other_code */
	uint64_t code_start, code_end; /* of the file's code (elf_file_code()) */
	uint64_t looked_at; /* up to here: of overlapping segments, no byte is looked at twice */
	/*
	 * private: what was read of the file last. Most gaps are short and there are many, so they
	 * share reads
	 */
	uint64_t window_start, window_end;
	uint8_t window[4096];
};

/*
 * Sets the table's entry_start and entry_end. Where the ABI leaves the rule for the entry point out
 * (ld.so's _start, musl's, Go's), what no FDE covers from there on is the entry code all the same,
 * and the outermost frame. 0 or -ENOMEM
 */
int gaps_find_entry(struct unwind_table *table, const struct elf_file *file,
		    const struct fde_index *fdes);

/*
 * Looks at [start, end), offsets in the file, which no FDE covers: sets table->has_other_code if
 * there is code whose rules can be derived.
 */
void gaps_look(struct gaps *g, uint64_t start, uint64_t end);
/* gaps_look(); if g->of_code, it also writes the rows of [start, end). */
void gaps_write(struct gaps *g, uint64_t start, uint64_t end);

#endif
