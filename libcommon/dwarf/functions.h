/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a file by name: where each begins. */
#ifndef EHPERF_DWARF_FUNCTIONS_H
#define EHPERF_DWARF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"
#include "dwarf/symbols.h"

struct function {
	char *name; /* as in the file, without version; demangled if it was asked for so */
	uint64_t vaddr, file_offset, bytes; /* bytes: by its symbol; 0: not known */
	bool chosen; /* an IFUNC: its code runs once, and chooses the function that is called */
};

struct functions {
	struct function *functions; /* by address, none twice */
	size_t nr, room;
};

/*
 * The functions whose names match the pattern (* and ?): in .symtab, else in that of a separate
 * debug file, else in .gnu_debugdata's, else in Go's table; and in .dynsym. A clone (.constprop.0,
 * .isra.0) has its function's name; .cold and .part are not functions. A pattern with :: matches
 * demangled names. options: only .search, .path and .opened are used. No match is not an error. 0,
 * -EFBIG (elf_file_table()) or -ENOMEM
 */
int functions_find(struct functions *functions, struct elf_file *file,
		   const struct symbol_options *options, const char *pattern);
void functions_free(struct functions *functions);

#endif
