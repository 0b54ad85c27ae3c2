// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/region_table.h"

#include <errno.h>
#include <stdlib.h>

#include "table/code_rules.h"
#include "table/row_writer.h"

struct region_writer {
	struct unwind_table table;
	struct cfi_states states;
	struct row_writer rows;
	uint32_t nothing;	/* the state of no rule */
	bool any;
};

/* Where nothing is known, what is guessed from frame pointers counts, as it does where no code was read. */
static void write_row(void *arg, size_t at, const struct eh_rule *rule)
{
	struct region_writer *w = arg;
	uint32_t state = rule->kind == RULE_NONE ? w->nothing : cfi_states_of_rule(&w->states, rule);

	w->any |= rule->kind != RULE_NONE;
	if (!w->states.error && !w->rows.error)
		row_writer_add(&w->rows, at, state);
}

int region_table_build(struct unwind_table *table, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct region_writer *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return -ENOMEM;
	cfi_states_init(&w->states);
	w->nothing = cfi_states_of_rule(&w->states, &(struct eh_rule){ .kind = RULE_NONE });
	row_writer_begin(&w->rows, &w->table, &w->states, 0, w->nothing);
	error = code_rules_generated(code, size, vaddr, write_row, w);
	if (!error && !w->states.error && !w->rows.error)
		row_writer_add(&w->rows, size, w->nothing);
	row_writer_end(&w->rows);
	error = error ?: w->states.error ?: w->rows.error ?: w->any ? 0 : -ENODATA;
	if (error)
		unwind_table_free(&w->table);
	else
		*table = w->table;
	cfi_states_free(&w->states);
	free(w);
	return error;
}
