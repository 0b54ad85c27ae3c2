/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The x86-64 psABI's registers and calls (3.2.1, figure 3.4; DWARF numbers: figure 3.36). */
#ifndef EHPERF_TABLE_X86_ABI_H
#define EHPERF_TABLE_X86_ABI_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "tables_abi.h"

#define MACHINE EM_X86_64

#define REG_SP EH_RSP
#define REG_FP EH_RBP
#define SAVED_FP SAVED_RBP
/* bits by DWARF number */
#define CALLEE_SAVED (1u << EH_RBX | 1u << EH_RBP | 1u << EH_RSP | 0xfu << EH_R12)
#define CALLER_SAVED (0xffff & ~CALLEE_SAVED)

/*
 * A call pushes the return address: at a function's first instruction, and at its `ret`, CFA = sp +
 * CFA_AT_ENTRY.
 */
#define CFA_AT_ENTRY 8
#define RA_AT_ENTRY (-1)	/* in words from the CFA */

/* Compilers and assemblers align functions to this, and linkers sections to at most that. */
#define FUNCTION_ALIGNMENT 16
#define MAX_ALIGNMENT 64

/*
 * where rule.saved[] has this register, which may be any number; -1 for those that a rule does not
 * restore
 */
static inline int saved_index(uint64_t reg)
{
	switch (reg) {
	case EH_RBX:
		return SAVED_RBX;
	case EH_RBP:
		return SAVED_RBP;
	case EH_R12 ... EH_R12 + 3:
		return SAVED_R12 + (reg - EH_R12);
	case EH_RA:
		return SAVED_RA;
	default:
		return -1;
	}
}

#endif
