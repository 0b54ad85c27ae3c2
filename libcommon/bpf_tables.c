// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_tables.h"

#include <errno.h>
#include <string.h>

/* the rows of pages [first, end) into one extent; page.rows becomes a loc */
static int upload_rows(struct slabs *slabs, const struct unwind_table *table, struct eh_page *pages, uint32_t first,
		       uint32_t end)
{
	uint64_t from = table->pages[first].rows, to = (uint64_t)table->pages[end - 1].rows + table->pages[end - 1].nr_rows;
	loc_t loc = slabs_alloc(slabs, (to - from) * ROW_BYTES);

	if (!loc)
		return -errno;
	memcpy(slabs_at(slabs, loc), table->rows + from * ROW_BYTES, (to - from) * ROW_BYTES);
	for (uint32_t i = first; i < end; i++) {
		pages[i] = table->pages[i];
		pages[i].rows = loc + (table->pages[i].rows - from) * ROW_BYTES;
	}
	return 0;
}

int upload_table(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc)
{
	struct eh_module header = {
		.id = module_id,
		.first_page = table->first_page,
		.nr_pages = table->nr_pages,
		.nr_rules = table->nr_rules,
		.entry_start = table->entry_start,
		.entry_end = table->entry_end,
		.rules = slabs_alloc(slabs, table->nr_rules * sizeof(*table->rules)),
		.pages = slabs_alloc(slabs, table->nr_pages * sizeof(*table->pages)),
	};
	loc_t module = slabs_alloc(slabs, sizeof(header));
	int error;

	if (!header.rules || !header.pages || !module)
		return -errno;
	memcpy(slabs_at(slabs, header.rules), table->rules, table->nr_rules * sizeof(*table->rules));
	for (uint32_t first = 0, end; first < table->nr_pages; first = end) {
		end = unwind_table_extent_end(table, first);
		error = upload_rows(slabs, table, slabs_at(slabs, header.pages), first, end);
		if (error)
			return error;
	}
	memcpy(slabs_at(slabs, module), &header, sizeof(header));
	*loc = module;
	return 0;
}
