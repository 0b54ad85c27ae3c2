// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/regions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "table/region_table.h"
#include "tables_abi.h"

#define MAX_REGIONS 256 /* of a process */
/* a process with so many regions without rules is left alone: V8's code keeps frame pointers */
#define MAX_HOPELESS   16
#define MAX_READINGS   16 /* of a region; it has been read for ten minutes by then */
#define FIRST_PAUSE_NS 10000000ULL

struct region {
	uint64_t number, start, end; /* its mapping's */
	uint64_t hash;               /* of the bytes that were read last; 0: none were */
	uint64_t next_ns;            /* when it may be read again; 0: never */
	unsigned nr_readings, nr_tables;
	/*
	 * tables_add_region(): the first one is empty; walks may still read those before the last
	 */
	loc_t tables[MAX_READINGS + 1];
};

static loc_t table_of(const struct region *region)
{
	return region->tables[region->nr_tables - 1];
}

static struct region *find(const struct regions *r, uint64_t number, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->of[i].number == number && r->of[i].start == start && r->of[i].end == end)
			return &r->of[i];
	return NULL;
}

static bool may_add(const struct regions *r, uint64_t bytes)
{
	return r->nr < MAX_REGIONS && r->nr_hopeless < MAX_HOPELESS && bytes <= MAX_REGION_BYTES;
}

/* NULL: no memory */
static struct region *add(struct regions *r, struct tables *tables,
			  const struct published_mapping *mapping, uint64_t number)
{
	loc_t empty =
		array_reserve(&r->of, &r->room, r->nr + 1) ? 0 : tables_add_region(tables, NULL);

	if (!empty)
		return NULL;
	r->of[r->nr] = (struct region){
		.number = number,
		.start = mapping->start,
		.end = mapping->end,
		.next_ns = 1,
		.nr_tables = 1,
		.tables[0] = empty,
	};
	return &r->of[r->nr++];
}

static void release(struct region *region, struct tables *tables)
{
	for (unsigned i = 0; i < region->nr_tables; i++)
		tables_unuse_region(tables, region->tables[i]);
}

void regions_free(struct regions *r, struct tables *tables)
{
	for (size_t i = 0; i < r->nr; i++)
		release(&r->of[i], tables);
	free(r->of);
	*r = (struct regions){};
}

/* A walk that is reading the mapping finds one module or the other. */
static void set_module(struct published_mapping *mapping, struct tables *tables, loc_t module)
{
	loc_t old = mapping->module;

	tables_use_region(tables, module);
	__atomic_store_n(&mapping->module, module, __ATOMIC_RELEASE);
	tables_unuse_region(tables, old);
}

loc_t regions_use(const struct regions *r, struct tables *tables,
		  const struct proc_mapping *mapping)
{
	const struct region *region = find(r, mapping->number, mapping->start, mapping->end);
	loc_t table = 0;

	if (region)
		table = table_of(region);
	else if (may_add(r, mapping->end - mapping->start))
		table = tables_unread_region(tables);
	tables_use_region(tables, table);
	return table;
}

static bool is_mapped(const struct region *region, const struct proc_maps *maps)
{
	size_t i = count_below(maps->mappings, maps->nr, start, region->start);

	return i < maps->nr && maps->mappings[i].number == region->number &&
	       maps->mappings[i].start == region->start && maps->mappings[i].end == region->end;
}

void regions_forget(struct regions *r, struct tables *tables, const struct proc_maps *maps)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->nr; i++) {
		if (is_mapped(&r->of[i], maps))
			r->of[kept++] = r->of[i];
		else
			release(&r->of[i], tables);
	}
	r->nr = kept;
}

/* Do walks that end in the region ask for it? The first table is empty. */
static void ask(const struct region *region, struct tables *tables, bool wanted)
{
	tables_set_region(tables, table_of(region),
			  (wanted ? PENDING_REGION : 0) |
				  (region->nr_tables > 2 ? REGION_CHANGES : 0));
}

/* after a reading: when is the next one? */
static void pause_reading(struct regions *r, struct region *region, int error)
{
	if (error == -ENOTSUP || error == -ENODATA)
		r->nr_hopeless++;
	if (error == -ENOTSUP || region->nr_readings == MAX_READINGS) {
		region->next_ns = 0;
		return;
	}
	region->next_ns = clock_ns() + (FIRST_PAUSE_NS << region->nr_readings);
	if (!r->resume_ns || region->next_ns < r->resume_ns)
		r->resume_ns = region->next_ns;
}

/* 0, or why there is no new table */
static int read_region(struct region *region, struct tables *tables, pid_t pid)
{
	struct unwind_table table;
	int error = foreign_read_region(modules_foreign(tables_modules(tables)), pid, region->start,
					region->end - region->start, &region->hash, &table);
	loc_t module;

	if (error)
		return error;
	module = tables_add_region(tables, &table);
	unwind_table_free(&table);
	if (!module)
		return -ENOSPC;
	region->tables[region->nr_tables++] = module;
	return 0;
}

bool regions_want(struct regions *r, struct tables *tables, pid_t pid,
		  struct published_mapping *mapping, uint64_t number, bool *given_up)
{
	struct region *region = find(r, number, mapping->start, mapping->end);
	loc_t before = mapping->module;

	*given_up = false;
	if (!region && may_add(r, mapping->end - mapping->start))
		region = add(r, tables, mapping, number);
	if (!region) {
		set_module(mapping, tables, 0);
		return false;
	}
	if (before == table_of(region) || before == tables_unread_region(tables)) {
		if (region->next_ns && clock_ns() >= region->next_ns) {
			region->nr_readings++;
			pause_reading(r, region, read_region(region, tables, pid));
			*given_up = !region->next_ns && region->nr_tables > MAX_READINGS / 2;
		}
		ask(region, tables, false);
	}
	set_module(mapping, tables, table_of(region));
	return mapping->module != before && region->nr_tables > 1;
}

void regions_resume(struct regions *r, struct tables *tables)
{
	uint64_t now = clock_ns();

	if (!r->resume_ns || now < r->resume_ns)
		return;
	r->resume_ns = 0;
	for (size_t i = 0; i < r->nr; i++) {
		const struct region *region = &r->of[i];

		if (region->next_ns && now >= region->next_ns)
			ask(region, tables, true);
		else if (region->next_ns && (!r->resume_ns || region->next_ns < r->resume_ns))
			r->resume_ns = region->next_ns;
	}
}
