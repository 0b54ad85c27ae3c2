/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of modules, in slabs, where the kernel reads them (tables_abi.h).
 *
 * A table is made in two steps: module_compile() (modules.h), which any thread may run, and the upload into
 * the slabs, one table at a time. Tables of code that no FDE covers, which may take a second, can be left to
 * a thread of their own.
 */
#ifndef EHPERF_UNWIND_TABLES_H
#define EHPERF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/modules.h"
#include "table/slabs.h"
#include "table/unwind_table.h"
#include "slabs_abi.h"

struct tables;

struct tables_counts {
	uint64_t files_without_table, rows, bytes;
};

/* Slabs and modules are the caller's and must outlive the tables. 0 or -ENOMEM */
int tables_new(struct tables **tables, struct slabs *slabs, struct modules *modules);
void tables_free(struct tables *tables);

/* Makes the module's table, unless that was tried before. 0 or -ENOMEM; other errors are in module->error */
int tables_make(struct tables *tables, uint32_t module_id);
/* Makes the tables of all modules, on all CPUs. */
int tables_make_all(struct tables *tables);

/*
 * A walk has come to code of a module that has a table, and wants its TABLE_CODE. true: it is there, or it is
 * known that there is none, and walks see that from now on. false: it is being made; until it is taken, walks
 * will want it.
 */
bool tables_want_code(struct tables *tables, uint32_t module_id);
/*
 * From now on, files with much of such code are left to a thread, and others are made at once, as all are
 * without it. 0 or -errno
 */
int tables_start_thread(struct tables *tables);
/* for poll(): readable when the thread has made a table; -1: there is no thread */
int tables_fd(const struct tables *tables);
/* Writes the tables that the thread has made, wait: one at least if any was wanted. How many there were */
unsigned tables_take_code(struct tables *tables, bool wait);

/* the place of the module's struct eh_module; 0: it has no table */
loc_t tables_loc(const struct tables *tables, uint32_t module_id);
struct tables_counts tables_counts(const struct tables *tables);

struct slabs *tables_slabs(const struct tables *tables);
struct modules *tables_modules(const struct tables *tables);

/*
 * Uploads one table by itself; *loc is its struct eh_module, with this ID. 0, or -errno with nothing
 * allocated
 */
int tables_upload_one(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc);

#endif
