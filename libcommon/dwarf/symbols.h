/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and starts of the functions of a file, found by offset in the file. */
#ifndef EHPERF_DWARF_SYMBOLS_H
#define EHPERF_DWARF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/debug_file.h"
#include "dwarf/elf_file.h"

/* sources of names, in order of preference; their names are in symbol_source_names[] */
enum symbol_source {
	SOURCE_SYMTAB,     /* .symtab */
	SOURCE_DEBUG_FILE, /* .symtab of the separate debug file */
	SOURCE_DEBUG_DATA, /* .symtab in .gnu_debugdata */
	SOURCE_DEBUGINFOD, /* .symtab of a server's debug file */
	SOURCE_GO_TABLE,   /* .gopclntab */
	SOURCE_DYNSYM,     /* .dynsym */
	SOURCE_PLT,        /* an entry of the PLT, "read@plt" */
	NR_SYMBOL_SOURCES
};
extern const char *const symbol_source_names[NR_SYMBOL_SOURCES];

struct symbol_options {
	struct debug_search search;
	/* whose debug files are used, and closed, and none is searched for; NULL: they are */
	struct opened_elf *opened;
	const char *path; /* the file's, as its process sees it, for .gnu_debuglink; may be NULL */
	/* of memory, for tables and strings; a source that needs more is left out */
	size_t max_bytes;
	bool no_demangle;
	/*
	 * the user has selected the processes: reading DWARF may take as long as for root's files
	 */
	bool chosen;
};

#define SYMBOL_OPTIONS_DEFAULT \
	((struct symbol_options){ .search.root = -1, .max_bytes = (size_t)256 << 20 })

struct symbols;

/*
 * A byte of code. Names are valid until the next symbols_find() of these symbols; raw_name can be
 * as long as the file's author likes.
 */
struct symbol {
	uint64_t vaddr;            /* its own: what objdump, addr2line and gdb take */
	bool has_function;         /* the start of its function is known */
	uint64_t function_vaddr;   /* that start; if not known, vaddr */
	uint64_t offset;           /* from there */
	const char *name;          /* for people: of the function, demangled; NULL: none is known */
	const char *raw_name;      /* as in the file, with version and suffixes; NULL with name */
	enum symbol_source source; /* of name */
};

/*
 * Reads the symbols of the file: .symtab, else that of the separate debug file, else
 * .gnu_debugdata's, else a debuginfod's; if neither the file nor a debug file has .symtab, also
 * Go's table and .dynsym; and the PLT. Functions without a symbol are bounded by their FDEs. What
 * does not parse, or has no room, is left out. 0 or -ENOMEM; the file may be closed afterwards.
 */
int symbols_read(struct symbols **symbols, struct elf_file *file,
		 const struct symbol_options *options);
void symbols_free(struct symbols *symbols);
size_t symbols_bytes(const struct symbols *symbols);
/* Is there neither .symtab nor a debug file, so that a debuginfod may have more? */
bool symbols_lack_names(const struct symbols *symbols);
/* Was something left out because it needs more than max_bytes, or than there is? */
bool symbols_lack_room(const struct symbols *symbols);

/*
 * starts of functions that are known otherwise, for code with neither symbol nor FDE. Copied. 0 or
 * -ENOMEM
 */
int symbols_add_entries(struct symbols *symbols, const uint64_t *vaddrs, size_t nr);

/* false: the offset is in no executable segment, nothing is known */
bool symbols_find(struct symbols *symbols, uint64_t file_offset, struct symbol *symbol);

#endif
