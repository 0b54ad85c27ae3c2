/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tables need of AAPCS64 and AADWARF64, besides bpf/arm64/machine_abi.h. */
#ifndef EHPERF_MACHINE_TABLE_H
#define EHPERF_MACHINE_TABLE_H

#include <elf.h>
#include <stdint.h>

#include "tables_abi.h"

#define MACHINE EM_AARCH64

/* bits by DWARF number */
#define CALLEE_SAVED (KNOWN_CALLEE_SAVED | 1u << EH_SP)
#define CALLER_SAVED (~CALLEE_SAVED)

#define SAVED_GO_G       SAVED_X28  /* the running g, in Go's internal ABI */
#define GO_DEPTH_ABOVE_G true       /* asmcgocall keeps the depth of g's stack above g */
#define RA_AT_ENTRY      SAVED_SAME /* in x30 */

#define PLT_HEADER_BYTES 32 /* of a .plt for which linkers write no CFI; its entries only jump */

#define CODELET_ALIGNMENT 64 /* CodeEntryAlignment of its interpreter's code */

/* Compilers and assemblers align functions to this, and linkers sections to at most that. */
#define FUNCTION_ALIGNMENT 16
#define MAX_ALIGNMENT      64

/*
 * where rule.saved[] has this register, which may be any number; -1 for those that a rule does not
 * restore
 */
static inline int saved_index(uint64_t reg)
{
	if (reg == EH_RA)
		return SAVED_RA;
	return reg >= EH_X19 && reg <= EH_X29 ? (int)(SAVED_X19 + (reg - EH_X19)) : -1;
}

#endif
