// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/row_writer.h"

#include <errno.h>

#include "base/array.h"

static void fail(struct row_writer *w, int error)
{
	if (!w->error)
		w->error = error;
}

static void begin_window(struct row_writer *w)
{
	w->window++;
	w->window_base = (w->window_base + w->window_rules + RULE_BASE_UNIT - 1) / RULE_BASE_UNIT *
			 RULE_BASE_UNIT;
	w->window_rules = 0;
	if (w->window_base >= MAX_RULES - MAX_PAGE_RULES)
		fail(w, -EOVERFLOW);
}

/* Adds the state's rule to the window, which is not full; its slot. */
static uint32_t add_to_window(struct row_writer *w, uint32_t state)
{
	struct unwind_table *t = w->table;
	uint32_t slot = w->window_rules;

	if (array_reserve(&t->rules, &w->max_rules, w->window_base + slot + 1)) {
		fail(w, -ENOMEM);
		return 0;
	}
	t->rules[w->window_base + slot] = w->states->all[state].rule;
	w->state_of[slot] = state;
	w->states->slot_of[state] = w->window << 12 | slot;
	w->window_rules++;
	return slot;
}

/*
 * Moves the page being written to a new window: its rows, fewer than the window has slots, are
 * numbered anew.
 */
static void move_page(struct row_writer *w)
{
	uint32_t old[MAX_PAGE_RULES];

	memcpy(old, w->state_of, sizeof(old));
	begin_window(w);
	w->table->pages[w->table->nr_pages - 1].rule_base = w->window_base / RULE_BASE_UNIT;
	for (uint64_t nr = w->page_row; nr < w->table->nr_rows; nr++) {
		uint8_t *at = w->table->rows + nr * ROW_BYTES;
		uint32_t row = row_at(at);

		row = ROW_PC(row) | row_writer_slot(w, old[ROW_RULE(row)]) << PAGE_ROWS_SHIFT;
		memcpy(at, &row, ROW_BYTES); /* no byte more: the next row is there already */
	}
}

uint32_t row_writer_join_window(struct row_writer *w, uint32_t state)
{
	if (w->window_rules == MAX_PAGE_RULES) {
		move_page(w);
		return row_writer_slot(w, state); /* which may have moved with the page */
	}
	return add_to_window(w, state);
}

static void end_page(struct row_writer *w)
{
	if (w->table->nr_pages)
		w->table->pages[w->table->nr_pages - 1].nr_rows = w->table->nr_rows - w->page_row;
}

/*
 * Opens the next page with the state that holds at its start, so that each pc of it has a row in
 * it.
 */
static void begin_page(struct row_writer *w)
{
	struct unwind_table *t = w->table;

	end_page(w);
	if (array_reserve(&t->rows, &w->max_row_bytes,
			  (t->nr_rows + MAX_PAGE_ROWS + 1) * ROW_BYTES) ||
	    array_reserve(&t->pages, &w->max_pages, t->nr_pages + 1)) {
		fail(w, -ENOMEM);
		return;
	}
	t->pages[t->nr_pages++] = (struct table_page){
		.rows = t->nr_rows,
		.rule_base = w->window_base / RULE_BASE_UNIT,
	};
	w->page_row = t->nr_rows;
	w->last_pc = 0;
	row_writer_append(w, 0, row_writer_slot(w, w->last_state));
}

void row_writer_turn_pages(struct row_writer *w, uint64_t page)
{
	while (w->page < page) {
		if (w->table->nr_pages >= MAX_PAGES)
			fail(w, -EOVERFLOW);
		else
			begin_page(w);
		if (w->error)
			return;
		w->page++;
	}
}

void row_writer_begin(struct row_writer *w, struct unwind_table *table,
		      const struct cfi_states *states, uint64_t first_page, uint32_t state)
{
	w->table = table;
	w->states = states;
	w->page = first_page;
	w->last_state = state;
	table->first_page = first_page;
	begin_window(w);
	begin_page(w);
}

void row_writer_end(struct row_writer *w)
{
	end_page(w);
	w->table->nr_rules = w->window_base + w->window_rules;
}
