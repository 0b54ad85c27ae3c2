/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What making a table needs to know of the machine. It is the machine that ehperf is built for,
 * because its unwinder uses the table. This code is in one folder, which the Makefile selects by
 * ARCH, as it selects the one of bpf/:
 *
 *   machine_table.h   registers and alignment
 *   cfa_expression.c  shapes of CFA expressions that only this machine's tools write
 *   entry.c           where the code at the ELF entry point ends, which addresses code takes and
 *                     jumps to
 *   padding.c         padding between functions
 *   leave.c           where instructions lead
 *   decode.c          instructions, as in code_insns.h; vector.c: vector instructions, faster
 *   go.c              what Go's compiler and runtime write
 *   argument.c        where functions and probes have their arguments
 *   known_code.c      certain code of certain programs, as in known_code.h
 */
#ifndef EHPERF_TABLE_MACHINE_H
#define EHPERF_TABLE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/cursor.h"
#include "events_abi.h"
#include "tables_abi.h"
#include "machine_table.h"

struct code;

/* Where an instruction leads. */
enum machine_way {
	WAY_ON, /* to the next one, perhaps after a call */
	WAY_RETURN,
	WAY_JUMP,      /* to step.to */
	WAY_BRANCH,    /* to step.to, or on */
	WAY_SWITCH,    /* to an address that comes from a table of the function's own */
	WAY_ELSEWHERE, /* by a register or a word of memory */
	WAY_EITHER,    /* one of these two */
	WAY_STOP,      /* nowhere */
};

struct machine_step {
	enum machine_way way;
	bool calls;   /* WAY_ON, after a call or a system call, if that returns */
	bool by_slot; /* WAY_ELSEWHERE by a word at a fixed address, as the linker's stubs do */
	uint64_t to;  /* vaddr */
	/* vaddr of memory that it reads or whose address it takes, by the pc; 0: none */
	uint64_t data;
	/*
	 * It reads or writes the word at base + displacement, or takes its address: base is a DWARF
	 * number, sp or fp
	 */
	bool reads;
	uint8_t base;
	int64_t displacement;
};

/* what a walk through instructions remembers, {} at first: bits of registers by their numbers */
struct machine_memory {
	uint32_t sums;  /* hold a sum of registers: addresses by a table of distances */
	uint32_t words; /* hold a word of an indexed table */
};

/*
 * An expression for the CFA that begins with DW_OP_breg<reg> offset; c is behind that, and not at
 * its end. Sets *rule if the machine has a rule for it, and leaves it as it is otherwise.
 */
void machine_cfa_expression(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset);

/*
 * Where does the entry code end, which begins at the ELF entry point, code[entry]? At code[end] or
 * before. code[0 .. size) is the code around it, whose calls show where other functions begin.
 * vaddr: of code[0]
 */
uint64_t machine_entry_end(const uint8_t *code, uint64_t size, uint64_t vaddr, uint64_t entry,
			   uint64_t end);

/* a function's argument when it is called; number: below NR_PARAMETERS */
struct event_argument machine_parameter(unsigned number);

/*
 * Parses the assembler's operand at the start of the text: sets .place, .at and .offset. Its
 * length; 0: it is of another form. For operand_parse() (table/operand.h)
 */
int machine_place(const char *text, struct event_argument *argument);

/* Is code[0 .. size) only padding, as assemblers and linkers put it between functions? */
bool machine_is_padding(const uint8_t *code, uint64_t size);

/*
 * Finds the next instruction behind code[from] that takes an address relative to its own. Returns
 * the offset behind it, with the address in *to; 0: there is none. vaddr: of code[0]
 */
size_t machine_next_address(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			    uint64_t *to);

/* machine_next_address() for conditional jumps with 32-bit displacements */
size_t machine_next_branch(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			   uint64_t *to);

/*
 * Go's compiler: code[at] is the first instruction for which the function has a frame, of so many
 * bytes. Does the prologue save the frame pointer in its highest word? *from: the first instruction
 * after that
 */
bool machine_saves_fp(const uint8_t *code, uint64_t size, uint64_t at, uint32_t frame_bytes,
		      uint64_t *from);

/*
 * Go's runtime makes a function look called by the instruction that a signal has interrupted. Adds
 * to the function's rule what the signal handler has put onto the stack, besides the return
 * address.
 */
void machine_add_interrupted(struct eh_rule *rule);

/*
 * Does the instruction at `at` return to where the last call was made; call the
 * kernel; set sp to the register *from, rounded down to a multiple of 16?
 */
bool machine_is_return(const uint8_t *code, uint64_t size, uint64_t at);
bool machine_is_syscall(const uint8_t *code, uint64_t size, uint64_t at);
bool machine_aligns_sp(const uint8_t *code, uint64_t size, uint64_t at, uint8_t *from);

/*
 * The instruction code[0 .. size), which lies at vaddr; its bytes, or 0 where it does not decode.
 */
size_t machine_step(const uint8_t *code, size_t size, uint64_t vaddr, struct machine_memory *memory,
		    struct machine_step *step);

/*
 * Does the kernel refuse to probe the instruction code[at .. size), or would a probe break the
 * program? That may be seen from the MACHINE_BEFORE bytes before it, if they are in code.
 */
#define MACHINE_BEFORE 128
bool machine_is_unprobeable(const uint8_t *code, size_t size, size_t at);

/* Decodes code->bytes into code->insns. 0 or -ENOMEM */
int machine_decode(struct code *code);

#endif
