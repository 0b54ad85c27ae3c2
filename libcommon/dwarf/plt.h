/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of a file's PLT, which no symbol table has, each named after the function that it
 * jumps to.
 */
#ifndef EHPERF_DWARF_PLT_H
#define EHPERF_DWARF_PLT_H

#include "dwarf/symbol_table.h"

/*
 * .plt, .plt.sec and .plt.got of x86-64 and aarch64: the slot of the GOT that an entry's jump
 * loads, and the relocation of that slot. The names are the bare ones. 0 (also for none) or
 * -ENOMEM, -EBADMSG; on failure *table is empty.
 */
int plt_read(struct symbol_table *table, struct elf_file *file);

#endif
