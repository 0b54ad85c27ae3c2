/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's own table of functions (gopclntab.h) as a symbol table: strip and the linker's -s do not remove it. */
#ifndef EHPERF_DWARF_GO_SYMBOLS_H
#define EHPERF_DWARF_GO_SYMBOLS_H

#include "dwarf/gopclntab.h"
#include "dwarf/symbol_table.h"

/*
 * The functions of the file's table, with at most max_bytes of memory. A name is as in .symtab, but for the
 * suffix that says which calling convention it has (.abi0). 0 (also where there is no such table: nr is 0),
 * -EFBIG or -ENOMEM; on failure *table is empty.
 */
int go_symbols_read(struct symbol_table *table, struct elf_file *file, size_t max_bytes);

#endif
