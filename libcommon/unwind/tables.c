// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <string.h>

#include "tables_abi.h"

static uint64_t extent_rows(const struct unwind_table *table, uint32_t first, uint32_t end)
{
	return (uint64_t)table->pages[end - 1].rows + table->pages[end - 1].nr_rows - table->pages[first].rows;
}

/* the rows of pages [first, end) into one extent; page.rows becomes a loc */
static int upload_rows(struct slabs *slabs, const struct unwind_table *table, struct eh_page *pages, uint32_t first,
		       uint32_t end)
{
	uint64_t from = table->pages[first].rows, bytes = extent_rows(table, first, end) * ROW_BYTES;
	loc_t loc = slabs_alloc(slabs, bytes);

	if (!loc)
		return -errno;
	memcpy(slabs_at(slabs, loc), table->rows + from * ROW_BYTES, bytes);
	for (uint32_t i = first; i < end; i++) {
		pages[i] = table->pages[i];
		pages[i].rows = loc + (table->pages[i].rows - from) * ROW_BYTES;
	}
	return 0;
}

static void release(struct slabs *slabs, const struct unwind_table *table, const struct eh_table *written, uint32_t nr_written)
{
	const struct eh_page *pages = slabs_at(slabs, written->pages);

	for (uint32_t first = 0, end; first < nr_written; first = end) {
		end = unwind_table_extent_end(table, first);
		slabs_release(slabs, pages[first].rows, extent_rows(table, first, end) * ROW_BYTES);
	}
	slabs_release(slabs, written->pages, table->nr_pages * sizeof(*table->pages));
	slabs_release(slabs, written->rules, table->nr_rules * sizeof(*table->rules));
}

static int write_table(struct slabs *slabs, const struct unwind_table *table, struct eh_table *written)
{
	struct eh_table header = {
		.first_page = table->first_page,
		.nr_pages = table->nr_pages,
		.rules = slabs_alloc(slabs, table->nr_rules * sizeof(*table->rules)),
		.pages = slabs_alloc(slabs, table->nr_pages * sizeof(*table->pages)),
	};
	int error = !header.rules || !header.pages ? -errno : 0;
	uint32_t first = 0, end;

	for (; first < table->nr_pages && !error; first = error ? first : end) {
		end = unwind_table_extent_end(table, first);
		error = upload_rows(slabs, table, slabs_at(slabs, header.pages), first, end);
	}
	if (error) {
		release(slabs, table, &header, first);
		return error;
	}
	memcpy(slabs_at(slabs, header.rules), table->rules, table->nr_rules * sizeof(*table->rules));
	*written = header;
	return 0;
}

int upload_table(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc)
{
	struct eh_module module = {
		.id = module_id,
		.code_pending = table->has_other_code,
		.entry_start = table->entry_start,
		.entry_end = table->entry_end,
	};
	loc_t at = slabs_alloc(slabs, sizeof(module));
	int error = !at ? -errno : table->nr_pages ? write_table(slabs, table, &module.tables[TABLE_CFI]) : 0;

	if (error) {
		slabs_release(slabs, at, sizeof(module));
		return error;
	}
	memcpy(slabs_at(slabs, at), &module, sizeof(module));
	*loc = at;
	return 0;
}

static void count(struct module *module, const struct unwind_table *table)
{
	module->rows += table->nr_rows;
	module->table_bytes += unwind_table_bytes(table);
}

int upload_module(struct slabs *slabs, struct module *module, struct unwind_table *table)
{
	if (table->nr_pages || table->has_other_code) {
		module->error = upload_table(slabs, module->id, table, &module->loc);
		if (!module->error)
			count(module, table);
	}
	unwind_table_free(table);
	return module->error == -ENOMEM ? -ENOMEM : 0;
}

int upload_code(struct slabs *slabs, struct module *module, struct unwind_table *table)
{
	struct eh_module *header = slabs_at(slabs, module->loc);
	int error = 0;

	if (table->nr_pages) {
		error = write_table(slabs, table, &header->tables[TABLE_CODE]);
		if (!error)
			count(module, table);
	}
	unwind_table_free(table);
	__atomic_store_n(&header->code_pending, 0, __ATOMIC_RELEASE);
	return error == -ENOMEM ? -ENOMEM : 0;
}
