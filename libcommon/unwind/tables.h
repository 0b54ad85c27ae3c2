/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of modules, in slabs, where the kernel reads them (tables_abi.h).
 *
 * A table is made in two steps: module_compile() (modules.h), which any thread may run, and the upload into
 * the slabs, one table at a time.
 */
#ifndef EHPERF_UNWIND_TABLES_H
#define EHPERF_UNWIND_TABLES_H

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
 * Makes the TABLE_CODE of a module that has a struct eh_module. From now on walks use it, or know that there
 * is none. 0 or -ENOMEM
 */
int tables_make_code(struct tables *tables, uint32_t module_id);

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
