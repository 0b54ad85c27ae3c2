/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every target does with CFI: read it, compile it, check the table, compare it with the exact
 * rows.
 */
#ifndef EHPERF_FUZZ_H
#define EHPERF_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ehdump/expect.h"
#include "table/eh_rule.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "broken: %s\n", what);
		abort();
	}
}

/*
 * safe to upload and to search: every index leads into its array, every page begins at its start
 * and rises
 */
static inline void check_table(const struct unwind_table *table)
{
	uint64_t next = 0;

	for (uint32_t p = 0; p < table->nr_pages; p++) {
		const struct table_page *page = &table->pages[p];
		int last = -1;

		must(page->rows == next && page->nr_rows, "pages follow each other");
		next += page->nr_rows;
		must(next <= table->nr_rows, "rows of a page are in the table");
		for (uint64_t nr = page->rows; nr < next; nr++) {
			uint32_t row = 0;

			memcpy(&row, table->rows + nr * ROW_BYTES, ROW_BYTES);
			must((int)ROW_PC(row) > last && (nr > page->rows || !ROW_PC(row)),
			     "rows rise from 0 on");
			last = ROW_PC(row);
			must(page->rule_base * RULE_BASE_UNIT + ROW_RULE(row) < table->nr_rules,
			     "rules are in the table");
		}
	}
	must(next == table->nr_rows, "all rows are in pages");
}

/*
 * A rule has one base register. Where CFI uses two, which no compiler does, it depends on the order
 * of the instructions whose registers become odd: unknown, which is safe.
 */
static inline bool same_but_for_odd(struct eh_rule a, struct eh_rule b)
{
	for (int i = 0; i < NR_SAVED; i++) {
		if (a.saved[i] != SAVED_ODD && b.saved[i] != SAVED_ODD)
			continue;
		a.saved[i] = b.saved[i] = SAVED_ODD;
		a.from_base &= ~(1 << i);
		b.from_base &= ~(1 << i);
	}
	if (!a.from_base && !b.from_base)
		a.base_reg = b.base_reg = 0;
	return eh_rule_same(&a, &b);
}

/* where segments overlap, an offset in the file may be two addresses' */
static inline size_t nr_texts(const struct elf_file *file)
{
	size_t nr = 0;

	for (size_t i = 0; i < file->nr_segments; i++)
		nr += file->segments[i].executable;
	return nr;
}

static inline void fuzz_cfi(const struct elf_file *file, struct eh_frame frame)
{
	struct expectation *expected;
	struct eh_frame again = frame;
	struct unwind_table table;
	size_t nr;

	if (unwind_table_compile(&table, file, &frame))
		return;
	check_table(&table);
	if (nr_texts(file) == 1 && !cfi_expect(file, &again, &expected, &nr)) {
		for (size_t i = 0; i < nr; i++) {
			struct eh_rule rule = unwind_table_lookup(&table, expected[i].file_offset);

			if (same_but_for_odd(rule, expected[i].rule))
				continue;
			fprintf(stderr, "at file offset %#llx: rows: ",
				(unsigned long long)expected[i].file_offset);
			eh_rule_print(stderr, &expected[i].rule);
			fprintf(stderr, ", table: ");
			eh_rule_print(stderr, &rule);
			must(false, "the table says what the rows say");
		}
		free(expected);
	}
	for (uint64_t offset = 0; offset < 1 << 20; offset += 997)
		unwind_table_lookup(&table, offset);
	unwind_table_lookup(&table, UINT64_MAX);
	unwind_table_free(&table);
}

#endif
