/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes one compiled table (table/unwind_table.h) into slabs, in the form in which the kernel
 * reads it (tables_abi.h). tables.h decides which modules have a table, and when.
 */
#ifndef EHPERF_UNWIND_TABLE_UPLOAD_H
#define EHPERF_UNWIND_TABLE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "table/slabs.h"
#include "table/unwind_table.h"
#include "slabs_abi.h"
#include "tables_abi.h"

struct extent {
	loc_t loc;
	uint32_t size; /* in bytes */
};

/* a module's memory in the slabs; the owner frees `of` */
struct extents {
	struct extent *of;
	size_t nr, room;
	struct room_user *user; /* who pays: slabs_user(); NULL: nobody */
};

/*
 * Allocates this many bytes, and records them. 0 with errno set on failure: EDQUOT if its user may
 * have no more
 */
loc_t extents_take(struct slabs *slabs, size_t size, struct extents *extents);
/* Frees all but the first `kept`. */
void extents_release(struct slabs *slabs, struct extents *extents, size_t kept);

/* Writes rules, pages and rows. 0 with *written filled, or -errno with *extents unchanged */
int table_write(struct slabs *slabs, const struct unwind_table *table,
		struct published_table *written, struct extents *extents);

/* the struct published_module of a module whose table this is, before any table of it is written */
struct published_module table_header(uint32_t module_id, const struct unwind_table *table);

/*
 * Uploads one table by itself; *loc is its struct published_module, with this ID. 0, or -errno with
 * nothing allocated
 */
int table_upload(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table,
		 loc_t *loc);

#endif
