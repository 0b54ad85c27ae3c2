/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes compact tables into the slabs. */
#ifndef EHPERF_BPF_TABLES_H
#define EHPERF_BPF_TABLES_H

#include "bpf_slabs.h"
#include "unwind_table.h"

/* *loc: of the struct eh_module, which has this id. 0 or -errno */
int upload_table(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table, loc_t *loc);

#endif
