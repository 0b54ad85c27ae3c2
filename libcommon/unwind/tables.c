// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory_limit.h"
#include "process/workers.h"
#include "unwind/table_upload.h"
#include "tables_abi.h"

/*
 * A table that no list uses is kept for a while, because short programs map the same files again
 * and again: for MAX_UNUSED_NS at most. All such tables take MAX_UNUSED_BYTES at most, counting
 * FILE_BYTES for each file.
 */
#define MAX_UNUSED_NS    10000000000
#define MAX_UNUSED_BYTES (memory_limit / 16)
#define FILE_BYTES       4096

#define MAX_TIMEOUTS 20 /* a file that times out is tried again so many times */

/* of a module: module->table */
struct module_table {
	bool tried, code_asked;
	/* [0]: of CFI, [1]: of code */
	bool much[2];
	uint8_t nr_timeouts[2];
	loc_t loc; /* of its struct published_module; 0: there is none */
	struct extents extents;
	uint64_t rows, bytes;
	uint32_t nr_users; /* mappings in lists */
	/* its place in the list of unused tables: module IDs, 0: none */
	bool unused;
	uint32_t older, newer;
	uint64_t since_ns;
};

struct region_table {
	loc_t loc; /* of its struct published_module */
	struct extents extents;
	uint32_t nr_users;
	UT_hash_handle hh;
};

struct tables {
	struct slabs *slabs;
	struct modules *modules;
	uint32_t oldest, newest; /* unused tables */
	uint64_t unused_bytes;
	uint64_t nr_evicted;
	struct region_table *regions; /* by .loc */
	loc_t unread_region;
	void (*made)(void *arg, pid_t tid, uint64_t cpu_ns);
	void *made_arg;
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

/* NULL: none was asked for, or the module is gone */
static struct module_table *table_of(const struct tables *tables, uint32_t id)
{
	const struct module *module = modules_get(tables->modules, id);

	return module ? module->table : NULL;
}

/* NULL: no memory */
static struct module_table *new_table_of(struct module *module)
{
	if (!module->table)
		module->table = calloc(1, sizeof(*module->table));
	return module->table;
}

static void free_regions(struct tables *tables)
{
	struct region_table *region, *next;

	HASH_ITER(hh, tables->regions, region, next) {
		HASH_DEL(tables->regions, region);
		free(region->extents.of);
		free(region);
	}
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	for (uint32_t id = 1; id <= modules_last_id(tables->modules); id++) {
		struct module *module = modules_get(tables->modules, id);

		if (!module || !module->table)
			continue;
		free(module->table->extents.of);
		free(module->table);
		module->table = NULL;
	}
	free_regions(tables);
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

static struct published_module *header_of(const struct tables *tables, uint32_t module_id)
{
	return slabs_at(tables->slabs, table_of(tables, module_id)->loc);
}

static void count(struct module_table *of, const struct unwind_table *table)
{
	of->rows += table->nr_rows;
	of->bytes += unwind_table_bytes(table);
}

void tables_on_made(struct tables *tables, void (*made)(void *arg, pid_t tid, uint64_t cpu_ns),
		    void *arg)
{
	tables->made = made;
	tables->made_arg = arg;
}

/* ---- unused tables ---- */

static void take_out(struct tables *tables, struct module_table *of)
{
	if (of->older)
		table_of(tables, of->older)->newer = of->newer;
	else
		tables->oldest = of->newer;
	if (of->newer)
		table_of(tables, of->newer)->older = of->older;
	else
		tables->newest = of->older;
	of->unused = false;
	of->older = of->newer = 0;
	tables->unused_bytes -= of->bytes + FILE_BYTES;
}

/*
 * Its memory is given back. No list names it any more. A walk may still read it, if it began with a
 * list that was released since: that list's generation has changed, and so the walk's stack is
 * discarded.
 */
static void give_back(struct tables *tables, uint32_t id)
{
	struct module_table *of = table_of(tables, id);
	struct module *module = modules_get(tables->modules, id);

	extents_release(tables->slabs, &of->extents, 0);
	free(of->extents.of);
	*of = (struct module_table){};
	tables->nr_evicted++;
	if (!module)
		return;
	module->code_error = 0;
	module->moved = true;
	/* errors that may not come again: the file is tried once more */
	if (module->error == -ENOSPC || module->error == -EDQUOT || module->error == -ENOMEM ||
	    module->error == -EAGAIN || module->error == -ETIMEDOUT || module->error == -ESTALE)
		module->error = 0;
}

static void evict(struct tables *tables, uint32_t id)
{
	take_out(tables, table_of(tables, id));
	give_back(tables, id);
}

/*
 * A table that a worker is making stays until it is made. If no worker has begun, cancels the
 * request.
 */
static void now_unused(struct tables *tables, uint32_t id)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	struct module_table *of = table_of(tables, id);

	if (of->nr_users || of->unused || !of->loc)
		return;
	if (tables_awaited(tables, id)) {
		if (foreign &&
		    foreign_cancel_table(foreign, id,
					 !(header_of(tables, id)->pending & PENDING_CFI)))
			give_back(tables, id);
		return;
	}
	of->unused = true;
	of->older = tables->newest;
	if (of->older)
		table_of(tables, of->older)->newer = id;
	else
		tables->oldest = id;
	tables->newest = id;
	tables->unused_bytes += of->bytes + FILE_BYTES;
	of->since_ns = clock_ns();
	while (tables->unused_bytes > MAX_UNUSED_BYTES)
		evict(tables, tables->oldest);
}

static void evict_old(struct tables *tables)
{
	uint64_t now = clock_ns();

	while (tables->oldest && now - table_of(tables, tables->oldest)->since_ns > MAX_UNUSED_NS)
		evict(tables, tables->oldest);
}

void tables_use(struct tables *tables, uint32_t id)
{
	struct module_table *of = table_of(tables, id);

	if (!of || !of->loc)
		return;
	of->nr_users++;
	if (of->unused)
		take_out(tables, of);
}

void tables_unuse(struct tables *tables, uint32_t id)
{
	if (!--table_of(tables, id)->nr_users)
		now_unused(tables, id);
}

bool tables_make_room(struct tables *tables)
{
	bool any = tables->oldest;

	while (tables->oldest)
		evict(tables, tables->oldest);
	return any;
}

/* ---- what was made ---- */

/* To be called last: a walk that sees no flag must see the table that was written before. */
static void set_pending(struct published_module *header, uint32_t pending)
{
	__atomic_store_n(&header->pending, pending, __ATOMIC_RELEASE);
}

/* tables_make_room(), but only of this user's tables. */
static bool make_room_of(struct tables *tables, const struct room_user *user)
{
	bool any = false;

	for (uint32_t id = tables->oldest, newer; id; id = newer) {
		struct module_table *of = table_of(tables, id);

		newer = of->newer;
		if (of->extents.user != user)
			continue;
		evict(tables, id);
		any = true;
	}
	return any;
}

/* table_write(). If there is no room, evicts unused tables, and tries once more. */
static int write_for(struct tables *tables, struct module_table *of,
		     const struct unwind_table *table, struct published_table *written)
{
	int error = table_write(tables->slabs, table, written, &of->extents);

	if ((error == -ENOSPC && tables_make_room(tables)) ||
	    (error == -EDQUOT && make_room_of(tables, of->extents.user)))
		error = table_write(tables->slabs, table, written, &of->extents);
	if (!error)
		count(of, table);
	return error;
}

/* Writes the module's table, and frees `compiled`. Without one, walks end in this file. */
static void write_cfi(struct tables *tables, struct module *module, struct compiled *compiled)
{
	struct published_module *header = header_of(tables, module->id),
				made = table_header(module->id, &compiled->table);

	module_compiled(module, compiled);
	if (!module->error && compiled->table.nr_pages)
		module->error = write_for(tables, table_of(tables, module->id), &compiled->table,
					  &made.tables[TABLE_CFI]);
	if (module->error || (!compiled->table.nr_pages && !made.pending))
		made = (struct published_module){};
	unwind_table_free(&compiled->table);
	header->id = made.id;
	header->entry_start = made.entry_start;
	header->entry_end = made.entry_end;
	header->tables[TABLE_CFI] = made.tables[TABLE_CFI];
	set_pending(header, made.pending);
	now_unused(tables, module->id);
}

/* From now on, walks see this table, or that it could not be made. Frees `compiled`. */
static void write_code(struct tables *tables, struct module *module, struct compiled *compiled)
{
	struct published_module *header = header_of(tables, module->id);
	int error = compiled->error;

	if (!error && compiled->table.nr_pages)
		error = write_for(tables, table_of(tables, module->id), &compiled->table,
				  &header->tables[TABLE_CODE]);
	unwind_table_free(&compiled->table);
	module->code_error = error;
	set_pending(header, error ? NO_CODE_TABLE : 0);
	now_unused(tables, module->id);
}

/* ---- asking ---- */

/*
 * Has a worker make the table. False: *made has it, or the error. Only workers, which have no
 * rights, open and parse users' files. The tool itself makes tables of images that it has in
 * memory, and all if it has no workers.
 */
static bool leave_to_worker(struct tables *tables, struct module *module, bool of_code, bool much,
			    struct compiled *made)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	struct mapped_file file = module_file(module);
	int error;

	if (!foreign || module->image) {
		module_compile(module, of_code, made);
		return false;
	}
	error = foreign_ask_table(foreign, module->id, &file, &module->key, module->owner, of_code,
				  much);
	if (error)
		*made = (struct compiled){ .error = error };
	return !error;
}

static int make_header(struct tables *tables, const struct module *module)
{
	struct module_table *of = table_of(tables, module->id);
	struct published_module header = { .id = module->id, .pending = PENDING_CFI };

	/* taken even if its user has no room: else the file would never be tried again */
	of->loc = extents_take(tables->slabs, sizeof(header), &of->extents);
	if (!of->loc && errno == ENOSPC && tables_make_room(tables))
		of->loc = extents_take(tables->slabs, sizeof(header), &of->extents);
	if (!of->loc) {
		int error = -errno;

		free(of->extents.of);
		of->extents = (struct extents){};
		return error;
	}
	of->extents.user = slabs_user(tables->slabs, OWNERS_UID(module->owner));
	if (of->extents.user)
		user_room_charge(of->extents.user, extent_bytes(sizeof(header)));
	memcpy(slabs_at(tables->slabs, of->loc), &header, sizeof(header));
	return 0;
}

int tables_make(struct tables *tables, uint32_t module_id)
{
	struct module *module = modules_get(tables->modules, module_id);
	struct module_table *of;
	struct compiled compiled;

	if (!module)
		return 0;
	of = new_table_of(module);
	if (!of)
		return -ENOMEM;
	if (of->tried)
		return 0;
	of->tried = true;
	if (module->error)
		return 0;
	module->error = make_header(tables, module);
	if (module->error)
		return module->error == -ENOMEM ? -ENOMEM : 0;
	if (leave_to_worker(tables, module, false, false, &compiled))
		return 0;
	write_cfi(tables, module, &compiled);
	return module->error == -ENOMEM ? -ENOMEM : 0;
}

bool tables_awaited(const struct tables *tables, uint32_t module_id)
{
	const struct published_module *header =
		tables_loc(tables, module_id) ? header_of(tables, module_id) : NULL;

	return header &&
	       (header->pending & PENDING_CFI ||
		(header->pending & PENDING_CODE && table_of(tables, module_id)->code_asked));
}

bool tables_want(struct tables *tables, uint32_t module_id)
{
	struct module *module = modules_get(tables->modules, module_id);
	struct module_table *of = table_of(tables, module_id);
	struct compiled compiled;

	if (tables_awaited(tables, module_id))
		return false;
	if (!(header_of(tables, module_id)->pending & PENDING_CODE))
		return true;
	of->code_asked = leave_to_worker(tables, module, true, false, &compiled);
	if (of->code_asked)
		return false;
	write_code(tables, module, &compiled);
	return true;
}

/* ---- regions ---- */

static struct region_table *region_at(const struct tables *tables, loc_t loc)
{
	struct region_table *region;

	HASH_FIND(hh, tables->regions, &loc, sizeof(loc), region);
	return region;
}

static int write_region(struct tables *tables, struct region_table *region,
			const struct unwind_table *table)
{
	struct published_module header = {};
	int error = 0;

	region->loc = extents_take(tables->slabs, sizeof(header), &region->extents);
	if (!region->loc)
		return -errno;
	if (table)
		error = table_write(tables->slabs, table, &header.tables[TABLE_CFI],
				    &region->extents);
	memcpy(slabs_at(tables->slabs, region->loc), &header, sizeof(header));
	return error;
}

static void free_region(struct tables *tables, struct region_table *region)
{
	extents_release(tables->slabs, &region->extents, 0);
	free(region->extents.of);
	free(region);
}

loc_t tables_add_region(struct tables *tables, const struct unwind_table *table)
{
	struct region_table *region = calloc(1, sizeof(*region));

	if (!region)
		return 0;
	if (write_region(tables, region, table)) {
		free_region(tables, region);
		return 0;
	}
	region->nr_users = 1;
	HASH_ADD(hh, tables->regions, loc, sizeof(region->loc), region);
	return region->loc;
}

void tables_use_region(struct tables *tables, loc_t loc)
{
	struct region_table *region = region_at(tables, loc);

	if (region)
		region->nr_users++;
}

void tables_unuse_region(struct tables *tables, loc_t loc)
{
	struct region_table *region = region_at(tables, loc);

	if (!region || --region->nr_users)
		return;
	HASH_DEL(tables->regions, region);
	free_region(tables, region);
}

void tables_set_region(struct tables *tables, loc_t loc, uint32_t pending)
{
	set_pending(slabs_at(tables->slabs, loc), pending);
}

loc_t tables_unread_region(struct tables *tables)
{
	if (!tables->unread_region) {
		tables->unread_region = slabs_alloc(tables->slabs, sizeof(struct published_module));
		if (tables->unread_region) {
			*(struct published_module *)slabs_at(tables->slabs, tables->unread_region) =
				(struct published_module){};
			tables_set_region(tables, tables->unread_region, PENDING_REGION);
		}
	}
	return tables->unread_region;
}

int tables_fd(const struct tables *tables)
{
	return modules_foreign(tables->modules) ? foreign_fd(modules_foreign(tables->modules)) : -1;
}

/*
 * A table that needs much memory is made alone, and so is one whose file timed out. That file is
 * tried again: its disk may be slow at first, and what was read stays in the page cache.
 */
static bool ask_again(struct tables *tables, uint32_t id, bool of_code, struct compiled *made)
{
	struct module_table *of = table_of(tables, id);
	bool slow = made->error == -ETIMEDOUT && of->nr_timeouts[of_code]++ < MAX_TIMEOUTS;
	bool large = (made->error == -ENOMEM || made->error == -EFBIG) && !of->much[of_code];

	if (!slow && !large)
		return false;
	of->much[of_code] = true;
	return leave_to_worker(tables, modules_get(tables->modules, id), of_code, true, made);
}

static unsigned take_made(struct tables *tables)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	struct compiled compiled;
	bool of_code;
	unsigned nr = 0;
	uint32_t id;

	for (; (id = foreign_take_table(foreign, &of_code, &compiled)); nr++) {
		if (tables->made)
			tables->made(tables->made_arg, modules_get(tables->modules, id)->tid,
				     compiled.cpu_ns);
		if (ask_again(tables, id, of_code, &compiled))
			continue;
		if (!of_code)
			write_cfi(tables, modules_get(tables->modules, id), &compiled);
		else
			write_code(tables, modules_get(tables->modules, id), &compiled);
	}
	return nr;
}

unsigned tables_take(struct tables *tables, int max_ms)
{
	struct foreign *foreign = modules_foreign(tables->modules);
	uint64_t end = clock_ns() + max_ms * 1000000ULL, now;
	unsigned nr;

	evict_old(tables);
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

	for (uint32_t id = 1; id <= modules_last_id(tables->modules); id++)
		if (tables_make(tables, id) == -ENOMEM)
			return -ENOMEM;
	while (foreign && foreign_nr_tables(foreign) && (now = clock_ns()) < end)
		tables_take(tables, (end - now) / 1000000 + 1);
	return 0;
}

static void give_up(struct module *module, const struct module_table *of, bool of_code)
{
	if (of->nr_timeouts[of_code])
		*(of_code ? &module->code_error : &module->error) = -ETIMEDOUT;
}

void tables_give_up(struct tables *tables)
{
	for (uint32_t id = 1; id <= modules_last_id(tables->modules); id++) {
		struct published_module *header =
			tables_loc(tables, id) ? header_of(tables, id) : NULL;

		if (!header || !tables_awaited(tables, id))
			continue;
		give_up(modules_get(tables->modules, id), table_of(tables, id),
			!(header->pending & PENDING_CFI));
		if (header->pending & PENDING_CFI)
			header->id = 0;
		set_pending(header, NO_CODE_TABLE);
	}
}

void tables_note_modules(const struct tables *tables, bool *used)
{
	for (uint32_t id = 1; id <= modules_last_id(tables->modules); id++)
		used[id] |= tables_loc(tables, id) != 0;
}

loc_t tables_loc(const struct tables *tables, uint32_t module_id)
{
	const struct module_table *of = table_of(tables, module_id);

	return of ? of->loc : 0;
}

struct tables_counts tables_counts(const struct tables *tables)
{
	struct tables_counts counts = {
		.files_without_table = modules_nr_seen(tables->modules),
		.evicted = tables->nr_evicted,
	};

	for (uint32_t id = 1; id <= modules_last_id(tables->modules); id++) {
		const struct module_table *of = table_of(tables, id);

		if (!of)
			continue;
		counts.files_without_table -= of->rows != 0;
		counts.rows += of->rows;
		counts.bytes += of->bytes;
	}
	return counts;
}
