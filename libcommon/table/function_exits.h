/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions by which a function returns, so that probes on them can time its calls. These
 * probes do not change the stack. A return probe does: it replaces the return address, and code
 * that unwinds, copies or switches the stack finds the wrong one.
 */
#ifndef EHPERF_TABLE_FUNCTION_EXITS_H
#define EHPERF_TABLE_FUNCTION_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

struct code_bounds;

/*
 * What is known of a file's code, for any number of its functions; the file must outlive it. exits:
 * function_exits_find() is to be called, too. NULL: no memory
 */
struct code_bounds *code_bounds_read(struct elf_file *file, bool exits);
void code_bounds_free(struct code_bounds *bounds);

bool code_has_fde(const struct code_bounds *bounds, uint64_t vaddr);

/*
 * Does an instruction begin at vaddr, and not before it? What lies between `start`, 0: that of its
 * FDE, and there is decoded; true, too, where that does not tell.
 */
bool code_begins_instruction(const struct code_bounds *bounds, uint64_t start, uint64_t vaddr);

struct function_exit {
	uint64_t file_offset; /* of the instruction */
	bool shared;          /* other functions may leave there, too */
};

struct function_exits {
	/* rising: the function's returns, and its jumps to other functions (tail calls) */
	struct function_exit *exits;
	size_t nr, room;
	/*
	 * By the file's CFI, the return address is on top of the stack at the first instruction,
	 * and no instruction reads it there, as setjmp() and dlsym() do
	 */
	bool returns_by_stack;
};

/*
 * vaddr: of the function; bytes: its size by its symbol, for code without an FDE, or 0. 0;
 * -ENOTSUP: not all of its exits are known, or it has none; -ENOMEM, -EBADMSG
 */
int function_exits_find(struct function_exits *exits, struct code_bounds *bounds, uint64_t vaddr,
			uint64_t bytes);
void function_exits_free(struct function_exits *exits);

#endif
