// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/region_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "table/code_rules.h"

/*
 * A function's rules are its own, and each has a note behind it: rules[0] is that of what is not
 * known. Those for which there is no number left are not known, either.
 */
struct region_writer {
	struct unwind_table table;
	size_t max_rules, max_pages, max_row_bytes;
	const uint8_t *code;
	size_t size;
	uint64_t vaddr;
	bool in_function;
	uint32_t function, first_rule; /* where it begins, and its first rule */
	uint32_t last_rule, last_at;   /* of the last row */
	int error;
};

/* ---- rules ---- */

/*
 * What makes the frame as the rule says are the instructions before it: the size that is subtracted
 * from sp, or pushes. Other code at the same place is recognized by these 4 bytes.
 */
static struct rule_note note_of(const struct region_writer *w, uint32_t at)
{
	struct rule_note note = {};
	uint32_t from = at < w->function + sizeof(note.word) ? w->function : at - sizeof(note.word);

	if (from + sizeof(note.word) > w->size)
		from = w->size - sizeof(note.word);
	note.at = w->vaddr + from;
	memcpy(&note.word, w->code + from, sizeof(note.word));
	return note;
}

static uint32_t add_rule(struct region_writer *w, uint32_t at, const struct eh_rule *rule)
{
	struct unwind_table *t = &w->table;
	struct rule_note note = note_of(w, at);

	if (t->nr_rules + 2 > MAX_PAGE_RULES)
		return 0;
	if (array_reserve(&t->rules, &w->max_rules, t->nr_rules + 2)) {
		w->error = -ENOMEM;
		return 0;
	}
	t->rules[t->nr_rules] = *rule;
	memcpy(&t->rules[t->nr_rules + 1], &note, sizeof(note));
	t->nr_rules += 2;
	return t->nr_rules - 2;
}

/*
 * Where nothing is known, what is guessed from frame pointers counts, as it does where no code was
 * read.
 */
static uint32_t rule_number(struct region_writer *w, uint32_t at, const struct eh_rule *rule)
{
	struct eh_rule noted = *rule;

	if (rule->kind == RULE_NONE) {
		w->in_function = false;
		return 0;
	}
	if (!w->in_function) {
		w->in_function = true;
		w->function = at;
		w->first_rule = w->table.nr_rules;
	}
	noted.flags |= RULE_NOTED;
	for (uint32_t i = w->first_rule; i < w->table.nr_rules; i += 2)
		if (!memcmp(&w->table.rules[i], &noted, sizeof(noted)))
			return i;
	return add_rule(w, at, &noted);
}

/* ---- rows ---- */

static void add_row(struct region_writer *w, uint32_t at, uint32_t rule)
{
	struct unwind_table *t = &w->table;
	struct table_page *page = &t->pages[at >> PAGE_ROWS_SHIFT];
	uint32_t row = (at & (MAX_PAGE_ROWS - 1)) | rule << PAGE_ROWS_SHIFT;

	if (page->nr_rows && w->last_at == at) {
		page->nr_rows--;
		t->nr_rows--;
	}
	if (array_reserve(&t->rows, &w->max_row_bytes, t->nr_rows * ROW_BYTES + sizeof(row))) {
		w->error = -ENOMEM;
		return;
	}
	memcpy(t->rows + t->nr_rows++ * ROW_BYTES, &row, sizeof(row));
	page->nr_rows++;
	w->last_at = at;
	w->last_rule = rule;
}

/* Adds pages up to that of `at`. The first row of each has the rule of the last one before. */
static void add_pages(struct region_writer *w, uint32_t at)
{
	struct unwind_table *t = &w->table;

	while (!w->error && t->nr_pages <= at >> PAGE_ROWS_SHIFT) {
		if (array_reserve(&t->pages, &w->max_pages, t->nr_pages + 1)) {
			w->error = -ENOMEM;
			return;
		}
		t->pages[t->nr_pages] = (struct table_page){ .rows = t->nr_rows };
		t->nr_pages++;
		add_row(w, (t->nr_pages - 1) << PAGE_ROWS_SHIFT, w->last_rule);
	}
}

static void write_row(void *arg, size_t at, const struct eh_rule *rule)
{
	struct region_writer *w = arg;
	uint32_t number = w->error ? 0 : rule_number(w, at, rule);

	if (!w->error && number == w->last_rule)
		return;
	add_pages(w, at);
	if (!w->error)
		add_row(w, at, number);
}

int region_table_build(struct unwind_table *table, const uint8_t *code, size_t size, uint64_t vaddr)
{
	static const struct eh_rule nothing = { .kind = RULE_NONE };
	struct region_writer w = { .code = code, .size = size, .vaddr = vaddr };
	int error;

	if (size < sizeof(struct rule_note))
		return -ENODATA;
	if (array_reserve(&w.table.rules, &w.max_rules, 1))
		return -ENOMEM;
	w.table.rules[w.table.nr_rules++] = nothing;
	error = code_rules_generated(code, size, vaddr, write_row, &w);
	if (!error)
		write_row(&w, size, &nothing);
	error = error ?: w.error ?: w.table.nr_rules > 1 ? 0 : -ENODATA;
	if (error)
		unwind_table_free(&w.table);
	else
		*table = w.table;
	return error;
}
