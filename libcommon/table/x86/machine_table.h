/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tables need of the x86-64 psABI, besides bpf/x86/machine_abi.h. */
#ifndef EHPERF_MACHINE_TABLE_H
#define EHPERF_MACHINE_TABLE_H

#include <elf.h>
#include <stdint.h>

#include "tables_abi.h"

#define MACHINE EM_X86_64

/* bits by DWARF number */
#define CALLEE_SAVED (1u << EH_RBX | 1u << EH_RBP | 1u << EH_RSP | 0xfu << EH_R12)
#define CALLER_SAVED (0xffff & ~CALLEE_SAVED)

#define SAVED_GO_G       SAVED_R14 /* the running g, in Go's internal ABI */
#define GO_DEPTH_ABOVE_G false     /* asmcgocall keeps the depth of g's stack below g */
#define RA_AT_ENTRY      (-1)      /* in words from the CFA */

#define PLT_HEADER_BYTES 0 /* linkers write CFI for .plt */

#define CODELET_ALIGNMENT 32 /* CodeEntryAlignment of its interpreter's code */

/* Compilers and assemblers align functions to this, and linkers sections to at most that. */
#define FUNCTION_ALIGNMENT 16
#define MAX_ALIGNMENT      64

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
