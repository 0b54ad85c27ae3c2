/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes compact tables into the slabs. */
#ifndef EHPERF_UNWIND_TABLES_H
#define EHPERF_UNWIND_TABLES_H

#include "unwind/modules.h"
#include "table/slabs.h"
#include "table/unwind_table.h"
#include "slabs_abi.h"

/* *loc: of the struct eh_module, which has this id. 0, or -errno, and nothing is kept */
int upload_table(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc);

/* The module's table, which is freed: module->loc, or module->error. 0 or -ENOMEM */
int upload_module(struct slabs *slabs, struct module *module, struct unwind_table *table);
/* the same of its TABLE_CODE: walks see it from now on, or that there is none */
int upload_code(struct slabs *slabs, struct module *module, struct unwind_table *table);

#endif
