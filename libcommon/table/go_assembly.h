/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of Go's assembly functions, by their table and their instructions.
 *
 * These functions may save registers anywhere, or use the frame pointer in any way, so that rules
 * are derived from the instructions. pcsp does not hold for functions that write sp (GO_SPWRITE),
 * to change stacks or to align it. For these, the depth is followed from the entry as far as it is
 * known; from there on, a rule derived from the path to the return may hold (code_rules.h). Where
 * neither is known, the function has left its caller's stack.
 */
#ifndef EHPERF_TABLE_GO_ASSEMBLY_H
#define EHPERF_TABLE_GO_ASSEMBLY_H

#include "dwarf/gopclntab.h"
#include "tables_abi.h"

/* the frame pointer in a frame: still the caller's, saved, or not known */
enum go_fp { GO_FP_SAME, GO_FP_SAVED, GO_FP_LOST, NR_GO_FPS };

/* sp lies `depth` bytes lower than at the entry */
struct eh_rule go_frame_rule(int32_t depth, enum go_fp fp);

/* functions of the runtime that need special rules */
enum go_special {
	GO_ORDINARY,
	GO_OUTERMOST, /* nobody calls it */
	/*
	 * rt0_go(): GO_OUTERMOST, unless C calls it: in a program that begins with C's start code
	 */
	GO_FIRST,
	GO_CALLED, /* called by C, whose registers it keeps, or by the kernel; GO_TOPFRAME or not */
	/* its start is used as a return address: the byte before belongs to it, too */
	GO_ENTERED_AT_START,
	GO_INTERRUPTS, /* a signal handler makes it look called by the interrupted code */
	GO_NEW_THREAD, /* clone(), which returns twice, once on a new stack */
	/* mcall(): its caller may run elsewhere by now, so its stack begins where it writes sp */
	GO_NO_RETURN,
	GO_SWITCHES, /* + enum go_switch */
};

/* an enum go_special, or GO_SWITCHES + an enum go_switch */
int go_special_of(const struct go_function *function);
/* Is the function to be looked at here? */
bool go_is_assembly(const struct gopclntab *table, const struct go_function *function, int special);

/* from `at` in the function on, the rule holds; `at` rises */
typedef void go_rule_fn(void *arg, uint64_t at, const struct eh_rule *rule);

/*
 * Calls emit for the function's instructions. code: all its bytes. *curg: where struct m has its
 * field curg, which is found in runtime.systemstack and put into rules of the functions behind. 0
 * or -ENOMEM
 */
int go_assembly(const struct gopclntab *table, const struct go_function *function, int special,
		const uint8_t *code, uint32_t *curg, go_rule_fn *emit, void *arg);

#endif
