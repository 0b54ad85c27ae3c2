/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function names of an ELF file, by offset in the file. */
#ifndef EHPERF_DWARF_SYMBOLS_H
#define EHPERF_DWARF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

struct symbols;

struct symbol {
	const char *name;	/* demangled; NULL: none is known. Valid until symbols_free() */
	uint64_t vaddr;		/* of the function's start: the symbol's, or its FDE's where it has no name */
	uint64_t offset;	/* of the looked-up byte from there */
};

/*
 * Reads .symtab, of the separate debug file (by build ID, under /usr/lib/debug) where the file was
 * stripped, else .dynsym; functions without a symbol are bounded by their FDEs. 0 or -errno; the file
 * may be closed afterwards.
 */
int symbols_read(struct symbols **symbols, struct elf_file *file);
void symbols_free(struct symbols *symbols);

/* false: nothing is known about this offset */
bool symbols_find(struct symbols *symbols, uint64_t file_offset, struct symbol *symbol);

#endif
