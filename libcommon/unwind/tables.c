// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/clock.h"
#include "tables_abi.h"

/* ---- one table ---- */

static uint64_t extent_rows(const struct unwind_table *table, uint32_t first, uint32_t end)
{
	return (uint64_t)table->pages[end - 1].rows + table->pages[end - 1].nr_rows -
	       table->pages[first].rows;
}

/* Writes the rows of pages [first, end) into one extent; in pages[], .rows becomes a loc. */
static int upload_rows(struct slabs *slabs, const struct unwind_table *table, struct eh_page *pages,
		       uint32_t first, uint32_t end)
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

static void release(struct slabs *slabs, const struct unwind_table *table, const struct eh_table *written,
		    uint32_t nr_written)
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

static struct eh_module described(uint32_t module_id, const struct unwind_table *table)
{
	return (struct eh_module){
		.id = module_id,
		.pending = table->has_other_code ? PENDING_CODE : 0,
		.entry_start = table->entry_start,
		.entry_end = table->entry_end,
	};
}

int tables_upload_one(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc)
{
	struct eh_module module = described(module_id, table);
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

/* ---- of all modules ---- */

struct module_table {
	bool tried, code_asked;
	loc_t loc;		/* of its struct eh_module; 0: there is none */
	uint64_t rows, bytes;
};

struct tables {
	struct slabs *slabs;
	struct modules *modules;
	struct module_table *of;	/* [module ID - 1] */
	size_t nr, room;
};

int tables_new(struct tables **tables, struct slabs *slabs, struct modules *modules)
{
	struct tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->slabs = slabs;
	t->modules = modules;
	*tables = t;
	return 0;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	free(tables->of);
	free(tables);
}

struct slabs *tables_slabs(const struct tables *tables)
{
	return tables->slabs;
}

struct modules *tables_modules(const struct tables *tables)
{
	return tables->modules;
}

/* one element per module */
static int make_room(struct tables *tables)
{
	size_t nr = modules_count(tables->modules);

	if (nr <= tables->nr)
		return 0;
	if (array_reserve(&tables->of, &tables->room, nr))
		return -ENOMEM;
	memset(tables->of + tables->nr, 0, (nr - tables->nr) * sizeof(*tables->of));
	tables->nr = nr;
	return 0;
}

static struct eh_module *header_of(const struct tables *tables, uint32_t module_id)
{
	return slabs_at(tables->slabs, tables->of[module_id - 1].loc);
}

static void count(struct module_table *of, const struct unwind_table *table)
{
	of->rows += table->nr_rows;
	of->bytes += unwind_table_bytes(table);
}

/* ---- what was made ---- */

/* To be called last: a walk that sees no flag must see the table that was written before. */
static void set_pending(struct eh_module *header, uint32_t pending)
{
	__atomic_store_n(&header->pending, pending, __ATOMIC_RELEASE);
}

/* Writes the module's table; frees it. Without one, walks end there for want of a table. */
static void write_cfi(struct tables *tables, struct module *module, struct compiled *compiled)
{
	struct eh_module *header = header_of(tables, module->id), made = described(module->id, &compiled->table);

	module_compiled(module, compiled);
	if (!module->error && compiled->table.nr_pages)
		module->error = write_table(tables->slabs, &compiled->table, &made.tables[TABLE_CFI]);
	if (module->error || (!compiled->table.nr_pages && !made.pending))
		made = (struct eh_module){};
	else
		count(&tables->of[module->id - 1], &compiled->table);
	unwind_table_free(&compiled->table);
	header->id = made.id;
	header->entry_start = made.entry_start;
	header->entry_end = made.entry_end;
	header->tables[TABLE_CFI] = made.tables[TABLE_CFI];
	set_pending(header, made.pending);
}

/* Walks see from now on that there is this table, or none if it is empty or finds no room. Frees it. */
static void write_code(struct tables *tables, uint32_t module_id, struct unwind_table *table)
{
	struct eh_module *header = header_of(tables, module_id);

	if (table->nr_pages && !write_table(tables->slabs, table, &header->tables[TABLE_CODE]))
		count(&tables->of[module_id - 1], table);
	unwind_table_free(table);
	set_pending(header, 0);
}

/* ---- asking ---- */

/* Has a worker make it. False: there is none, or no memory for the request */
static bool leave_to_worker(struct tables *tables, const struct module *module, bool of_code)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	struct mapped_file file = module_file(module);

	return foreign && !module->image && !foreign_ask_table(foreign, module->id, &file, &module->key, of_code);
}

static int make_header(struct tables *tables, uint32_t module_id)
{
	struct module_table *of = &tables->of[module_id - 1];
	struct eh_module header = { .id = module_id, .pending = PENDING_CFI };

	of->loc = slabs_alloc(tables->slabs, sizeof(header));
	if (!of->loc)
		return -errno;
	memcpy(slabs_at(tables->slabs, of->loc), &header, sizeof(header));
	return 0;
}

int tables_make(struct tables *tables, uint32_t module_id)
{
	struct module *module = modules_get(tables->modules, module_id);
	struct compiled compiled;

	if (!module)
		return 0;
	if (make_room(tables))
		return -ENOMEM;
	if (tables->of[module_id - 1].tried)
		return 0;
	tables->of[module_id - 1].tried = true;
	if (module->error)
		return 0;
	module->error = make_header(tables, module_id);
	if (module->error)
		return module->error == -ENOMEM ? -ENOMEM : 0;
	if (leave_to_worker(tables, module, false))
		return 0;
	module_compile(module, false, &compiled);
	write_cfi(tables, module, &compiled);
	return module->error == -ENOMEM ? -ENOMEM : 0;
}

bool tables_awaited(const struct tables *tables, uint32_t module_id)
{
	const struct eh_module *header = header_of(tables, module_id);

	return header->pending & PENDING_CFI || (header->pending && tables->of[module_id - 1].code_asked);
}

bool tables_want(struct tables *tables, uint32_t module_id)
{
	const struct module *module = modules_get(tables->modules, module_id);
	struct module_table *of = &tables->of[module_id - 1];
	struct compiled compiled;

	if (tables_awaited(tables, module_id))
		return false;
	if (!header_of(tables, module_id)->pending)
		return true;
	of->code_asked = leave_to_worker(tables, module, true);
	if (of->code_asked)
		return false;
	module_compile(module, true, &compiled);
	write_code(tables, module_id, &compiled.table);
	return true;
}

int tables_fd(const struct tables *tables)
{
	return modules_foreign(tables->modules) ? foreign_fd(modules_foreign(tables->modules)) : -1;
}

static unsigned take_made(struct tables *tables)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	struct compiled compiled;
	bool of_code;
	unsigned nr = 0;
	uint32_t id;

	for (; (id = foreign_take_table(foreign, &of_code, &compiled)); nr++) {
		if (!of_code)
			write_cfi(tables, modules_get(tables->modules, id), &compiled);
		else
			write_code(tables, id, &compiled.table);
	}
	return nr;
}

unsigned tables_take(struct tables *tables, int max_ms)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	uint64_t end = clock_ns() + max_ms * 1000000ULL, now;
	unsigned nr;

	if (!foreign)
		return 0;
	while (!(nr = take_made(tables)) && foreign_nr_tables(foreign) && (now = clock_ns()) < end)
		foreign_wait(foreign, (end - now) / 1000000 + 1);
	return nr;
}

int tables_make_all(struct tables *tables, int max_ms)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	uint64_t end = clock_ns() + max_ms * 1000000ULL, now;

	for (uint32_t id = 1; id <= modules_count(tables->modules); id++)
		if (tables_make(tables, id) == -ENOMEM)
			return -ENOMEM;
	while (foreign && foreign_nr_tables(foreign) && (now = clock_ns()) < end)
		tables_take(tables, (end - now) / 1000000 + 1);
	return 0;
}

void tables_give_up(struct tables *tables)
{
	for (uint32_t id = 1; id <= tables->nr; id++) {
		struct eh_module *header = tables->of[id - 1].loc ? header_of(tables, id) : NULL;

		if (!header || !tables_awaited(tables, id))
			continue;
		if (header->pending & PENDING_CFI)
			header->id = 0;
		set_pending(header, 0);
	}
}

loc_t tables_loc(const struct tables *tables, uint32_t module_id)
{
	return module_id && module_id <= tables->nr ? tables->of[module_id - 1].loc : 0;
}

struct tables_counts tables_counts(const struct tables *tables)
{
	struct tables_counts counts = { .files_without_table = modules_count(tables->modules) };

	for (size_t i = 0; i < tables->nr; i++) {
		counts.files_without_table -= tables->of[i].rows != 0;
		counts.rows += tables->of[i].rows;
		counts.bytes += tables->of[i].bytes;
	}
	return counts;
}
