/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a table's rows, pages and rules (bpf/tables_abi.h) from (offset in the file, state) pairs
 * in rising order of offsets.
 *
 * A row has 12 bits for its rule, so a page's rows can name the 4,096 rules from the page's
 * rule_base on: a window. A state's rule joins the current window when a row first needs it. Where
 * the window is full, the page being written moves to a new window, behind the old one, with the
 * rules that its rows name; earlier pages keep the old one. A rule is thus stored once for each
 * window that uses it, and nearly every file has one window.
 */
#ifndef EHPERF_TABLE_ROW_WRITER_H
#define EHPERF_TABLE_ROW_WRITER_H

#include <stdint.h>
#include <string.h>

#include "table/cfi_states.h"
#include "table/unwind_table.h"

/* a table's pages lie in one slab: 2 GiB of text */
#define MAX_PAGES ((SLAB_BYTES - EXTENT_ALIGNMENT) / sizeof(struct table_page))

struct row_writer {
	int error; /* sticky: 0, -ENOMEM, or -EOVERFLOW (more than a table can hold) */
	/* private */
	struct unwind_table *table;
	const struct cfi_states *states;
	/* the page being written; its rows are the table's last ones */
	uint64_t page;                /* offset in the file >> PAGE_ROWS_SHIFT */
	uint64_t page_row;            /* number of its first row */
	uint32_t last_state, last_pc; /* of the last row */
	size_t max_pages, max_row_bytes, max_rules;
	/* the current window */
	uint32_t window; /* counted from 1 */
	uint32_t window_base, window_rules;
	/* states->slot_of[state] is window << 12 | slot; the inverse, for the current window: */
	uint32_t state_of[MAX_PAGE_RULES];
};

/* w is zeroed; the first page is first_page, and `state` holds from its start */
void row_writer_begin(struct row_writer *w, struct unwind_table *table,
		      const struct cfi_states *states, uint64_t first_page, uint32_t state);
/* Completes the last page and the table's counts. */
void row_writer_end(struct row_writer *w);

static inline uint32_t row_at(const uint8_t *at)
{
	uint32_t row = 0;

	memcpy(&row, at, ROW_BYTES);
	return row;
}

/* private: the slow paths of row_writer_add() */
void row_writer_turn_pages(struct row_writer *w, uint64_t page);
uint32_t row_writer_join_window(struct row_writer *w, uint32_t state);

static inline uint32_t row_writer_slot(struct row_writer *w, uint32_t state)
{
	uint32_t slot = w->states->slot_of[state];

	if (__builtin_expect(slot >> 12 != w->window, 0))
		return row_writer_join_window(w, state);
	return slot & (MAX_PAGE_RULES - 1);
}

/* Appends a row. rows[] has room for one byte more, which the next row overwrites. */
static inline void row_writer_append(struct row_writer *w, uint32_t pc, uint32_t slot)
{
	uint32_t row = pc | slot << PAGE_ROWS_SHIFT;

	memcpy(w->table->rows + w->table->nr_rows++ * ROW_BYTES, &row, sizeof(row));
}

/* From file_offset on, the state's rule holds. */
static inline void row_writer_add(struct row_writer *w, uint64_t file_offset, uint32_t state)
{
	uint32_t pc = file_offset & (MAX_PAGE_ROWS - 1);

	if (state == w->last_state)
		return;
	if (__builtin_expect(w->page < file_offset >> PAGE_ROWS_SHIFT, 0)) {
		row_writer_turn_pages(w, file_offset >> PAGE_ROWS_SHIFT);
		if (w->error)
			return;
	}
	w->last_state = state;
	if (pc == w->last_pc) /* the last row would hold for no byte */
		w->table->nr_rows--;
	w->last_pc = pc;
	row_writer_append(w, pc, row_writer_slot(w, state));
}

#endif
