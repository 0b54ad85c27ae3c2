/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of Go's functions, from the table that Go itself unwinds by (dwarf/gopclntab.h).
 *
 * Its pcsp says for each pc how much lower sp is than at the entry, so that the CFA is exact. The
 * compiler's functions with a frame save the frame pointer right below the return address: where
 * calls push that, at the frame's upper end, else at its lower one, at sp and below. No other
 * register survives a call of Go, and by these rows none does. Assembly: go_assembly.h.
 */
#ifndef EHPERF_TABLE_GO_ROWS_H
#define EHPERF_TABLE_GO_ROWS_H

#include "dwarf/gopclntab.h"
#include "table/fde_index.h"
#include "table/go_assembly.h"
#include "table/row_writer.h"

/* the class of a span that is a Go function's; its program_bytes are the function's number */
#define GO_CLASS MAX_CIE_CLASSES

#define GO_KNOWN_FRAMES 256

struct go_rows {
	bool present; /* the file has a table */
	struct gopclntab table;
	/* private */
	/* the ELF entry point is none of its functions: C calls them, and may be returned to */
	bool begins_with_c;
	const uint8_t *code; /* from the first function to the end of its segment */
	uint64_t code_vaddr, code_size;
	uint64_t assembly_bytes; /* decoded so far */
	uint32_t curg;           /* go_assembly()'s */
	/* [words of the frame]: its state + 1, or 0: not asked for yet */
	uint32_t known[NR_GO_FPS][GO_KNOWN_FRAMES];
};

/*
 * Looks for the file's table; go->present says whether there is one. *go is zeroed before. 0 or
 * -ENOMEM
 */
int go_rows_open(struct go_rows *go, struct elf_file *file);

/*
 * Adds the functions that the table has values for. It comes before the FDEs, so that where both
 * begin at one place the table rules. 0 or -ENOMEM
 */
int go_rows_add_functions(struct go_rows *go, struct fde_index *index, const struct elf_file *file);

/*
 * Writes the rows of one function: [span->start, end), offsets in the file. *nr_rows rises by the
 * table's values for it. 0 or -ENOMEM
 */
int go_rows_write(struct go_rows *go, struct row_writer *w, struct cfi_states *states,
		  const struct fde_span *span, uint64_t end, uint64_t *nr_rows);

#endif
