/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64's registers and calls, as tables, walks and raw samples see them (AAPCS64, 6.1.1;
 * AADWARF64, 4.1).
 */
#ifndef EHPERF_MACHINE_ABI_H
#define EHPERF_MACHINE_ABI_H

#include <linux/types.h>

#define USER_ADDRESS_BITS 48

/*
 * registers by their DWARF numbers. A call puts the return address into x30: CFI's rule for x30 is
 * the return address's
 */
enum { EH_X19 = 19, EH_X29 = 29, EH_X30 = 30, EH_SP = 31, EH_NR_REGS = 32, EH_RA = EH_X30 };
#define REG_SP EH_SP
#define REG_FP EH_X29

/*
 * the registers a rule restores, in the order of rule.saved; the return address comes last. Only
 * behind a signal handler's frame is x30 another register than the return address: elsewhere a
 * frame that has made a call has nothing in it
 */
enum { SAVED_X19, SAVED_X28 = SAVED_X19 + 9, SAVED_X29, SAVED_X30, SAVED_RA, NR_SAVED };
#define SAVED_FP SAVED_X29

/*
 * of struct eh_rule: the bits of a register's number, and of BASE_BELOW_CFA; a bit for each saved
 * register
 */
#define RULE_REG_BITS 6
typedef __u16 saved_bits_t;

/* the register of rule.saved[i], i < SAVED_RA */
static inline __attribute__((always_inline)) __u32 saved_reg(__u32 i)
{
	return EH_X19 + (i - SAVED_X19);
}

/*
 * bits by DWARF number: what a call preserves, sp apart; and what it overwrites before the callee's
 * first instruction
 */
#define KNOWN_CALLEE_SAVED (0x7ffu << EH_X19)
#define CALL_OVERWRITES    (1u << EH_X30)
/*
 * after a step along frame pointers: a frame's record may lie anywhere in it, so that it does not
 * say where sp was
 */
#define KNOWN_BY_FP (1u << EH_X29)

/*
 * of HotSpot's interpreter, whose frames bpf/runtimes knows: its place in the bytecode, and its
 * caller's sp when it is entered, in this version of Java
 */
#define REG_BYTECODE           22
#define REG_SENDER_SP(version) ((version) < 20 ? 13 : 19)
/* and that place where its frame keeps it: in words from the frame pointer */
#define INTERPRETER_BYTECODE (-9)

/* a call leaves sp as it is: at a function's first instruction, and at its `ret`, CFA = sp */
#define CFA_AT_ENTRY 0

/* in use below sp: Go's functions keep the caller's x29 there */
#define RED_ZONE_BYTES 16

/*
 * A return address may be signed, in the bits above those of user addresses (pointer
 * authentication).
 */
#define RETURN_ADDRESS(word) ((word) & ((1ULL << USER_ADDRESS_BITS) - 1))

#endif
