/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of modules, in slabs, where the kernel reads them (tables_abi.h).
 *
 * Workers compile files (foreign.h). The caller's thread asks the workers, and writes their results
 * into the slabs. A module has a struct published_module from the beginning, so that mapping lists
 * can refer to it; its tables are added when they are made. Until then, samples whose walks need
 * these tables arrive raw, and wait. Without workers, as in tests, tables are made at once.
 */
#ifndef EHPERF_UNWIND_TABLES_H
#define EHPERF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/modules.h"
#include "table/slabs.h"
#include "table/unwind_table.h"
#include "slabs_abi.h"

struct tables;

struct tables_counts {
	uint64_t files_without_table; /* of all that were seen */
	uint64_t rows, bytes;         /* at the moment */
	uint64_t evicted;
};

/* Slabs and modules are the caller's and must outlive the tables. 0 or -ENOMEM */
int tables_new(struct tables **tables, struct slabs *slabs, struct modules *modules);
void tables_free(struct tables *tables);

/*
 * Makes the module's table, or has it made, unless that was tried before. 0 or -ENOMEM; other
 * errors are in module->error, sooner or later
 */
int tables_make(struct tables *tables, uint32_t module_id);
/* Makes the tables of all modules, and waits for so long at most. 0 or -ENOMEM */
int tables_make_all(struct tables *tables, int max_ms);

/*
 * From now on, calls made() for each table that a worker has made or tried to make, with the CPU
 * time that it has taken, and the thread in whose mappings the file was first found.
 */
void tables_on_made(struct tables *tables, void (*made)(void *arg, pid_t tid, uint64_t cpu_ns),
		    void *arg);

/*
 * A mapping in a list refers to the module's struct published_module, or does not any more. Tables
 * to which no list refers are freed after ten seconds, or when they take much memory, the oldest
 * first, and are made again when they are needed.
 */
void tables_use(struct tables *tables, uint32_t module_id);
void tables_unuse(struct tables *tables, uint32_t module_id);
/* Makes room: frees all tables to which no list refers. false: there were none */
bool tables_make_room(struct tables *tables);

/*
 * A walk has come to code of a module and needs a table that it has not found. true: the table is
 * there now, or cannot be made, and walks see that from now on. false: it is being made; until
 * tables_take() has taken it, walks will ask for it.
 */
bool tables_want(struct tables *tables, uint32_t module_id);
/* Is any table of the module being made? */
bool tables_awaited(const struct tables *tables, uint32_t module_id);
/*
 * for poll(): readable when a table was made; -1: there are no workers. tables_take() is to be
 * called within 100 ms anyway
 */
int tables_fd(const struct tables *tables);
/*
 * Writes the tables that were made; waits at most this long for the first one. Returns their number
 */
unsigned tables_take(struct tables *tables, int max_ms);
/* Notes the modules that have a struct published_module: used[ID] */
void tables_note_modules(const struct tables *tables, bool *used);
/* From now on, no walk asks for tables that are still being made. */
void tables_give_up(struct tables *tables);

/*
 * Adds the table of a region (regions.h); NULL: an empty one. Returns the place of its struct
 * published_module, or 0: there is no room. Who adds it is its first user; it is freed when it has
 * none. Use and unuse ignore a place that is no region's.
 */
loc_t tables_add_region(struct tables *tables, const struct unwind_table *table);
void tables_use_region(struct tables *tables, loc_t region);
void tables_unuse_region(struct tables *tables, loc_t region);
/*
 * pending: PENDING_REGION, if walks that end there are to ask for it to be read; or REGION_CHANGES
 */
void tables_set_region(struct tables *tables, loc_t region, uint32_t pending);
/* the place of the struct published_module of regions that were not read; 0: there is no room */
loc_t tables_unread_region(struct tables *tables);

/* the place of the module's struct published_module; 0: it has none */
loc_t tables_loc(const struct tables *tables, uint32_t module_id);
struct tables_counts tables_counts(const struct tables *tables);

struct slabs *tables_slabs(const struct tables *tables);
struct modules *tables_modules(const struct tables *tables);

#endif
