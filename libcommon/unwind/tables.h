/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of modules, in slabs, where the kernel reads them (tables_abi.h).
 *
 * Who does what: workers compile (foreign.h), each file by itself, and know nothing of the rest. The
 * caller's thread asks them, and writes what they have made into the slabs. A module has its struct
 * eh_module from the first, so that mapping lists can name it; its tables appear in there when they are
 * made, and until then walks that come to it want them: their samples come raw, and wait. Without workers,
 * as in tests, all is made at once.
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
	uint64_t files_without_table, rows, bytes;	/* at the moment */
	uint64_t evicted;
};

/* Slabs and modules are the caller's and must outlive the tables. 0 or -ENOMEM */
int tables_new(struct tables **tables, struct slabs *slabs, struct modules *modules);
void tables_free(struct tables *tables);

/*
 * Makes the module's table, or has it made, unless that was tried before. 0 or -ENOMEM; other errors are in
 * module->error, sooner or later
 */
int tables_make(struct tables *tables, uint32_t module_id);
/* Makes the tables of all modules, and waits for so long at most. 0 or -ENOMEM */
int tables_make_all(struct tables *tables, int max_ms);

/*
 * From now on, says what making a table has taken of the CPU, and the thread in whose mappings the file was
 * first found.
 */
void tables_on_made(struct tables *tables, void (*made)(void *arg, pid_t tid, uint64_t cpu_ns), void *arg);

/*
 * A mapping in a list names the module's struct eh_module, or does so no more: in memory that is given
 * back. Tables that no list names go when there is much of them, the oldest first, and are made again when
 * they are wanted.
 */
void tables_use(struct tables *tables, uint32_t module_id);
void tables_unuse(struct tables *tables, uint32_t module_id);
/* There is no room: all tables go that no list names. Were there any? */
bool tables_make_room(struct tables *tables);

/*
 * A walk has come to code of a module and wants a table that is not there. true: it is there, or it is
 * known that there is none, and walks see that from now on. false: it is being made; until it is taken,
 * walks will want it.
 */
bool tables_want(struct tables *tables, uint32_t module_id);
/* Is any table of the module being made? */
bool tables_awaited(const struct tables *tables, uint32_t module_id);
/*
 * for poll(): readable when a table was made; -1: there are no workers. tables_take() is to be called
 * within 100 ms anyway
 */
int tables_fd(const struct tables *tables);
/* Writes the tables that were made; waits for one so long at most. How many there were */
unsigned tables_take(struct tables *tables, int max_ms);
/* Notes the modules that have a struct eh_module: used[ID] */
void tables_note_modules(const struct tables *tables, bool *used);
/* Gives back what is kept of modules that are forgotten. */
void tables_forget(struct tables *tables);
/* From now on, no walk wants what is still being made. */
void tables_give_up(struct tables *tables);

/* the place of the module's struct eh_module; 0: it has none */
loc_t tables_loc(const struct tables *tables, uint32_t module_id);
struct tables_counts tables_counts(const struct tables *tables);

struct slabs *tables_slabs(const struct tables *tables);
struct modules *tables_modules(const struct tables *tables);

#endif
