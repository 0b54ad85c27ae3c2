/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64's registers and calls, as tables, walks and raw samples see them (psABI, 3.2.1 and figures
 * 3.4 and 3.36).
 */
#ifndef EHPERF_MACHINE_ABI_H
#define EHPERF_MACHINE_ABI_H

#include <linux/types.h>

#define USER_ADDRESS_BITS 47

/* registers by their DWARF numbers */
enum { EH_RBX = 3, EH_RBP = 6, EH_RSP = 7, EH_R12 = 12, EH_RA = 16, EH_NR_REGS = 16 };
#define REG_SP EH_RSP
#define REG_FP EH_RBP

/* the registers a rule restores, in the order of rule.saved; the return address comes last */
enum { SAVED_RBX, SAVED_RBP, SAVED_R12, SAVED_R13, SAVED_R14, SAVED_R15, SAVED_RA, NR_SAVED };
#define SAVED_FP SAVED_RBP

/* of struct eh_rule: the bits of a register's number, and a bit for each saved register */
#define RULE_REG_BITS 4
typedef __u8 saved_bits_t;

/* the register of rule.saved[i], i < SAVED_RA */
static inline __attribute__((always_inline)) __u32 saved_reg(__u32 i)
{
	if (i == SAVED_RBX)
		return EH_RBX;
	return i == SAVED_RBP ? EH_RBP : EH_R12 + (i - SAVED_R12);
}

/*
 * bits by DWARF number: what a call preserves, sp apart; and what it overwrites before the callee's
 * first instruction
 */
#define KNOWN_CALLEE_SAVED (1u << EH_RBX | 1u << EH_RBP | 0xfu << EH_R12)
#define CALL_OVERWRITES    0u
/* after a step along frame pointers */
#define KNOWN_BY_FP (1u << EH_RSP | 1u << EH_RBP)

/*
 * of HotSpot's interpreter, whose frames bpf/runtimes knows: its place in the bytecode, and its
 * caller's sp when it is entered, in this version of Java
 */
#define REG_BYTECODE           (EH_R12 + 1)
#define REG_SENDER_SP(version) ((void)(version), EH_R12 + 1)
/* and that place where its frame keeps it: in words from the frame pointer */
#define INTERPRETER_BYTECODE (-8)

/*
 * A call pushes the return address: at a function's first instruction, and at its `ret`, CFA = sp +
 * CFA_AT_ENTRY.
 */
#define CFA_AT_ENTRY 8

/* in use below sp (psABI, 3.2.2) */
#define RED_ZONE_BYTES 128

/* the address that a word holds to which a function returns */
#define RETURN_ADDRESS(word) (word)

#endif
