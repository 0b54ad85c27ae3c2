/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's own table of functions. Go's garbage collector unwinds by it, so that stripped programs have
 * it, too. It has the functions by address, and for each pc how much lower sp is than at the
 * function's entry ("pcsp"). Go documents it in src/runtime/symtab.go and
 * src/cmd/link/internal/ld/pcln.go. Three layouts are read: of Go 1.16 and 1.17, 1.18 and 1.19, and
 * 1.20 and later.
 */
#ifndef EHPERF_DWARF_GOPCLNTAB_H
#define EHPERF_DWARF_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/cursor.h"
#include "dwarf/elf_file.h"

struct gopclntab {
	const uint8_t *bytes; /* valid until elf_file_close() */
	size_t size;
	const struct gopclntab_layout *layout;
	uint8_t quantum;     /* the least bytes of an instruction */
	uint64_t text_start; /* vaddr that functions' entries count from */
	uint64_t nr;         /* functions */
	/* the parts' offsets in bytes[] */
	uint64_t names, names_end, units, files, pcvalues, functions;
};

/* function.flags (FuncFlag): */
#define GO_TOPFRAME 1 /* tracebacks end here */
/* moves sp by more than constants, so that pcsp does not say where it is */
#define GO_SPWRITE 2
#define GO_ASM     4 /* assembly; from Go 1.18 on */

struct go_function {
	uint64_t start, size; /* vaddr, bytes up to the next function, padding included */
	const char *name;     /* never NULL */
	const uint8_t *pcsp;  /* of gopclntab_values(); NULL: none is known, it may be C */
	uint64_t record;      /* private: its offset in bytes[] */
	uint8_t flags;
};

/*
 * Opens the table at the start of these bytes. 0, or -EBADMSG: it is not a table, or has another
 * version or machine. text_start: from the header, may be 0.
 */
int gopclntab_over(struct gopclntab *table, const uint8_t *bytes, size_t size);

/*
 * Opens the file's table: its section, or, if the linker has merged that, what begins with the
 * header's magic. 0, -ENOENT or -ENOMEM; text_start is checked against the code.
 */
int gopclntab_open(struct gopclntab *table, struct elf_file *file);

/* Does it set GO_ASM? Otherwise each function may be assembly. */
bool gopclntab_marks_assembly(const struct gopclntab *table);

/* The i-th function, i < nr. false: what the table says of it is broken */
bool gopclntab_function(const struct gopclntab *table, uint64_t i, struct go_function *function);

/* The function around vaddr. false: there is none */
bool gopclntab_find(const struct gopclntab *table, uint64_t vaddr, struct go_function *function);

/*
 * The source file and line of an offset in a function; for inlined code, those of the inlined
 * function. *file is valid as long as the table. false: not known
 */
bool gopclntab_line(const struct gopclntab *table, const struct go_function *function,
		    uint64_t offset, const char **file, unsigned *line);

/*
 * The values of a function's pc-value table: each holds from the end of the one before, the
 * function's start at first, up to its own `end`, as offsets in the function.
 */
struct go_values {
	struct cursor c;
	uint64_t size; /* of the function */
	uint8_t quantum;
	uint64_t start, end;
	int32_t value;
};

struct go_values gopclntab_values(const struct gopclntab *table, const uint8_t *from,
				  uint64_t function_size);
/*
 * the next value, which holds in [start, end), not empty. false: that was the last one, or it does
 * not decode
 */
bool go_values_next(struct go_values *values);

/* Did Go's linker make the file? Its table may still be one that cannot be read. */
bool gopclntab_is_go(const struct elf_file *file);

#endif
