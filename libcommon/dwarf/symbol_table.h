/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of one ELF symbol table, sorted. An entry takes 24 bytes; the names stay in the
 * file's own string table, which is kept as it is: symbols that share one name share its bytes.
 *
 * Of several symbols at one address (aliases) one is kept, the best by this rule, in this order:
 *   1. one that has a size
 *   2. a global or weak one before a local one
 *   3. the one with fewer leading underscores (of 0 to 3)
 *   4. a global one before a weak one
 *   5. the one whose name stands first in the string table
 */
#ifndef EHPERF_DWARF_SYMBOL_TABLE_H
#define EHPERF_DWARF_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

#define SYMBOL_TABLE_MAX_SYMBOLS (4u << 20)        /* functions; Chromium has a million */
#define SYMBOL_TABLE_MAX_STRINGS ((size_t)1 << 27) /* bytes: what an entry's name can say */

struct symbol_entry {
	uint64_t start;               /* vaddr */
	uint32_t size;                /* 0 while sizeless */
	uint32_t name : 27, rank : 5; /* in the strings; of aliases the one of highest rank stays */
	/* 1 + index of the nearest earlier entry that reaches beyond this start; 0: none */
	uint32_t around;
};

struct symbol_table {
	struct symbol_entry *entries; /* by start, no two with the same */
	size_t nr, room;
	char *strings; /* ends with a NUL */
	size_t string_bytes;
};

struct symbol_match {
	const char *name;     /* in the table's strings */
	uint64_t start, size; /* vaddr, bytes */
	bool has_size; /* else its size is the distance to the next symbol or the section's end */
};

/*
 * The functions of the section of this type (SHT_SYMTAB, SHT_DYNSYM) that lie in `code`'s
 * executable segments: for a debug file, those of the file that it is for. With at most max_bytes
 * of memory. 0 (also when there is no such section: nr is 0), -EFBIG, -EBADMSG, -ENOMEM, -errno; on
 * failure *table is empty.
 */
int symbol_table_read(struct symbol_table *table, struct elf_file *file, uint32_t type,
		      const struct elf_file *code, size_t max_bytes);
void symbol_table_free(struct symbol_table *table);
size_t symbol_table_bytes(const struct symbol_table *table);

/* of a function with a size, where no other names are at its start */
#define SYMBOL_TABLE_BEST_RANK 31
/* to make one by hand: add, then finish. 0 or -ENOMEM, -EFBIG */
int symbol_table_add(struct symbol_table *table, const struct symbol_entry *entry);
void symbol_table_finish(struct symbol_table *table);

/* the innermost symbol around vaddr: of those that hold it, the one that starts last */
bool symbol_table_find(const struct symbol_table *table, uint64_t vaddr,
		       struct symbol_match *match);

#endif
