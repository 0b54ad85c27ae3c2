/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of a region: memory of no file, into which a runtime has written code. Its rules are
 * derived from the instructions.
 */
#ifndef EHPERF_TABLE_REGION_TABLE_H
#define EHPERF_TABLE_REGION_TABLE_H

#include "table/unwind_table.h"

/*
 * Larger regions are not read. PCRE2 allocates 64 KB at a time; PyPy, V8 and QEMU have a megabyte
 * and more.
 */
#define MAX_REGION_BYTES (512 << 10)

/*
 * Makes a table of these bytes, with offsets from their beginning. vaddr: of code[0]. It has rules
 * only where they are known, each with a note (struct rule_note) without a tag, so that it does not
 * apply to other code that comes to lie there. 0, -ENODATA: there is no rule; -ENOTSUP: the code
 * keeps frame pointers, which lead to its callers; -EOVERFLOW or -ENOMEM
 */
int region_table_build(struct unwind_table *table, const uint8_t *code, size_t size,
		       uint64_t vaddr);

#endif
