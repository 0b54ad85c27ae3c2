// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "tables_abi.h"
#include "unwind/code_maker.h"

#define MAX_THREADS 64

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

int tables_upload_one(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc)
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

/* ---- of all modules ---- */

/* of code that no FDE covers; what is made of that at once takes 5 ms */
#define MAX_BYTES_AT_ONCE (128 << 10)

struct module_table {
	bool tried;
	bool code_wanted;	/* of the thread */
	uint64_t code_bytes;
	loc_t loc;		/* 0: there is none */
	uint64_t rows, bytes;
};

struct tables {
	struct slabs *slabs;
	struct modules *modules;
	struct module_table *of;	/* [module ID - 1] */
	size_t nr, room;
	struct code_maker *code_maker;	/* NULL: all is made at once */
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
	code_maker_free(tables->code_maker);
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

static void count(struct module_table *of, const struct unwind_table *table)
{
	of->rows += table->nr_rows;
	of->bytes += unwind_table_bytes(table);
}

/* frees the table */
static int write_module(struct tables *tables, struct module *module, struct unwind_table *table)
{
	struct module_table *of = &tables->of[module->id - 1];

	of->code_bytes = table->other_code_bytes;
	if (table->nr_pages || table->has_other_code) {
		module->error = tables_upload_one(tables->slabs, module->id, table, &of->loc);
		if (!module->error)
			count(of, table);
	}
	unwind_table_free(table);
	return module->error == -ENOMEM ? -ENOMEM : 0;
}

int tables_make(struct tables *tables, uint32_t module_id)
{
	struct module *module = modules_get(tables->modules, module_id);
	struct unwind_table table;

	if (!module)
		return 0;
	if (make_room(tables))
		return -ENOMEM;
	if (tables->of[module_id - 1].tried)
		return 0;
	tables->of[module_id - 1].tried = true;
	module_compile(module, &table);
	return write_module(tables, module, &table);
}

/* ---- of code that no FDE covers ---- */

/* Walks see from now on that there is this table, or none if it is empty or finds no room. Frees it. */
static void write_code(struct tables *tables, uint32_t module_id, struct unwind_table *table)
{
	struct module_table *of = &tables->of[module_id - 1];
	struct eh_module *header = slabs_at(tables->slabs, of->loc);

	if (table->nr_pages && !write_table(tables->slabs, table, &header->tables[TABLE_CODE]))
		count(of, table);
	unwind_table_free(table);
	__atomic_store_n(&header->code_pending, 0, __ATOMIC_RELEASE);
}

/* false: the thread cannot make it */
static bool leave_to_thread(struct tables *tables, uint32_t module_id)
{
	struct module_table *of = &tables->of[module_id - 1];
	int fd;

	if (!tables->code_maker || of->code_bytes <= MAX_BYTES_AT_ONCE)
		return false;
	if (!of->code_wanted) {
		fd = module_open_file(modules_get(tables->modules, module_id));
		of->code_wanted = fd >= 0 && !code_maker_ask(tables->code_maker, module_id, fd);
	}
	return of->code_wanted;
}

bool tables_want_code(struct tables *tables, uint32_t module_id)
{
	struct unwind_table table;

	if (leave_to_thread(tables, module_id))
		return false;
	module_compile_code(modules_get(tables->modules, module_id), &table);
	write_code(tables, module_id, &table);
	return true;
}

int tables_start_thread(struct tables *tables)
{
	return code_maker_new(&tables->code_maker);
}

int tables_fd(const struct tables *tables)
{
	return tables->code_maker ? code_maker_fd(tables->code_maker) : -1;
}

unsigned tables_take_code(struct tables *tables, bool wait)
{
	struct unwind_table table;
	unsigned nr = 0;
	uint32_t id;

	while (tables->code_maker && (id = code_maker_take(tables->code_maker, wait && !nr, &table))) {
		write_code(tables, id, &table);
		nr++;
	}
	return nr;
}

loc_t tables_loc(const struct tables *tables, uint32_t module_id)
{
	return module_id && module_id <= tables->nr ? tables->of[module_id - 1].loc : 0;
}

struct tables_counts tables_counts(const struct tables *tables)
{
	struct tables_counts counts = { .files_without_table = modules_count(tables->modules) };

	for (size_t i = 0; i < tables->nr; i++) {
		counts.files_without_table -= tables->of[i].loc != 0;
		counts.rows += tables->of[i].rows;
		counts.bytes += tables->of[i].bytes;
	}
	return counts;
}

/* ---- at once, on all CPUs ---- */

struct compilation {
	struct tables *tables;
	uint32_t last_id;	/* of the module that a thread took last, atomically */
	pthread_mutex_t lock;	/* of the slabs */
};

/* in each thread: compile a module, write its table, take the next */
static void *compile(void *arg)
{
	struct compilation *c = arg;
	struct unwind_table table;
	uint32_t id;

	while ((id = __atomic_add_fetch(&c->last_id, 1, __ATOMIC_RELAXED)) <= c->tables->nr) {
		struct module *module = modules_get(c->tables->modules, id);

		if (c->tables->of[id - 1].tried)
			continue;
		c->tables->of[id - 1].tried = true;
		module_compile(module, &table);
		pthread_mutex_lock(&c->lock);
		write_module(c->tables, module, &table);	/* without memory, it gets no table */
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

int tables_make_all(struct tables *tables)
{
	struct compilation c = { .tables = tables, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[MAX_THREADS];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), nr = 0;

	if (make_room(tables))
		return -ENOMEM;
	while (nr < cpus - 1 && nr < MAX_THREADS && (size_t)nr < tables->nr &&
	       !pthread_create(&threads[nr], NULL, compile, &c))
		nr++;
	compile(&c);
	while (nr-- > 0)
		pthread_join(threads[nr], NULL);
	return 0;
}
