/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of code as the solver of code rules sees it: each instruction's effect on the registers
 * that a rule may speak of. Three steps work on it: machine_decode() (machine.h), code_link() here,
 * and the solver (code_backward.c, code_forward.c).
 */
#ifndef EHPERF_TABLE_CODE_INSNS_H
#define EHPERF_TABLE_CODE_INSNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"

/* in this order: insn_reaches_next() compares */
enum insn_effect {
	INSN_OTHER, /* none but registers overwritten */
	/*
	 * leaves the function: a return or a tail call, with the return address at sp +
	 * displacement
	 */
	INSN_RETURN,
	INSN_STOP,     /* the next instruction is not reached from here, or with an unknown stack */
	INSN_EXIT,     /* a system call that does not return; its pc is the next instruction */
	INSN_INDIRECT, /* a jump whose targets are not known: by a register or a table */
	INSN_JUMP,     /* to target */
	INSN_BRANCH,   /* to target, or on */
	INSN_CALL,     /* of target, if that is in this code */
	INSN_ADD,
	INSN_SUB,   /* sp += base; sp -= base */
	INSN_SET,   /* reg = base + displacement */
	INSN_LOAD,  /* reg = *(base + displacement) */
	INSN_STORE, /* *(base + displacement) = reg */
	INSN_PUSH,
	INSN_POP,   /* reg, 8 bytes */
	INSN_LEAVE, /* sp = reg, then pop reg: the end of a frame that reg points to */
};

#define NO_REG    255 /* something else than a 64-bit general register */
#define NO_TARGET UINT32_MAX

/*
 * An instruction; or one of its effects: those of one instruction follow each other, all at its
 * place.
 */
struct insn {
	uint32_t at; /* offset in the code */
	/* number of an instruction, or NO_TARGET; before code_link(), an offset in the code */
	uint32_t target;
	int32_t displacement;
	/* registers that get values the effect does not say: bits by DWARF number */
	uint32_t overwritten;
	uint8_t effect, reg, base; /* DWARF numbers, or NO_REG */
	bool padding;              /* does nothing: assemblers use it as padding */
	bool landing;  /* does nothing: a target of calls and jumps by a register (endbr64) */
	bool prologue; /* moves sp for what it saves there: so a frame begins */
	/* compares with the end of the stack: Go's functions begin so, and jump back there */
	bool stack_check;
	uint8_t changed;        /* the solver's pass in which the rule changed last */
	bool jumped_to, called; /* from this code; called: it is a function's first instruction */
	struct eh_rule rule;    /* before it, as far as the solver knows it */
};

/* Can the instruction after it be executed next? */
static inline bool insn_reaches_next(const struct insn *insn)
{
	return insn->effect < INSN_RETURN || insn->effect > INSN_JUMP;
}

static inline bool insn_sets_reg(const struct insn *insn)
{
	return insn->effect == INSN_SET || insn->effect == INSN_LOAD || insn->effect == INSN_POP;
}

struct code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;     /* of bytes[0]; only its alignment matters */
	struct insn *insns; /* by place; every byte belongs to one */
	size_t nr, max;
	/* return instructions, and those of them that pop arguments */
	size_t nr_returns, nr_popping;
	bool generated; /* a runtime has written it into memory: see code_rules_generated() */
};

/* the number of the first instruction at this offset or behind it; nr: there is none */
size_t code_insn_at(const struct code *code, uint32_t at);

/*
 * Second step: targets become numbers of instructions, and effects that depend on other
 * instructions are added: stack pointers from elsewhere, registers that helpers overwrite, and
 * which instructions are jumped to or called.
 */
void code_link(struct code *code);

#endif
