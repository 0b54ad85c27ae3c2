/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of Go's assembly functions, by their table and their instructions.
 *
 * They may save registers anywhere, or use the frame pointer: what is true of it is worked out from the
 * instructions. And where they write sp (GO_SPWRITE), to change stacks or to align it, pcsp does not
 * hold. There the depth is followed from the entry on, as far as it is known; and where it is not, a
 * rule from the way to the return may hold (code_rules.h). Where there is neither, the function has
 * left its caller's stack.
 */
#ifndef EHPERF_TABLE_GO_ASSEMBLY_H
#define EHPERF_TABLE_GO_ASSEMBLY_H

#include "dwarf/gopclntab.h"
#include "tables_abi.h"

/* what the runtime's functions are that are not like others */
enum go_special {
	GO_ORDINARY,
	GO_OUTERMOST,		/* nobody calls it */
	GO_FIRST,		/* rt0_go(): GO_OUTERMOST, unless C calls it, as it does where the program begins with C's start */
	GO_CALLED,		/* by C, whose registers it keeps, or by the kernel; GO_TOPFRAME or not */
	GO_ENTERED_AT_START,	/* its start is made a return address: the byte before is its own, too */
	GO_INTERRUPTS,		/* a signal's handler has made it look called by what the signal interrupted */
	GO_NEW_THREAD,		/* clone(), which returns twice, once on a new stack */
	GO_NO_RETURN,		/* mcall(): who called it may run elsewhere by now, so where sp is written its stack begins */
	GO_SWITCHES,		/* + enum go_switch */
};

/* an enum go_special, or GO_SWITCHES + an enum go_switch */
int go_special_of(const struct go_function *function);
/* Is the function to be looked at here? */
bool go_is_assembly(const struct gopclntab *table, const struct go_function *function, int special);

/* from `at` in the function on, the rule holds; `at` rises */
typedef void go_rule_fn(void *arg, uint64_t at, const struct eh_rule *rule);

/*
 * Calls emit for the function's instructions. code: all its bytes. *curg: where struct m has its field
 * curg, which is found in runtime.systemstack and put into rules of the functions behind. 0 or -ENOMEM
 */
int go_assembly(const struct gopclntab *table, const struct go_function *function, int special,
		const uint8_t *code, uint32_t *curg, go_rule_fn *emit, void *arg);

#endif
