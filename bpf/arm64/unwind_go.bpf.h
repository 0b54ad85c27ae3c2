/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's functions that change stacks (RULE_OTHER_STACK in tables_abi.h): from the thread's own
 * stack, that of g0, to the goroutine's (src/runtime/asm_arm64.s). x28 holds the running g in Go
 * code, and C code preserves it.
 */
#ifndef EHPERF_UNWIND_GO_BPF_H
#define EHPERF_UNWIND_GO_BPF_H

#define GO_G (EH_X19 + 9)
#include "walk/goroutine.bpf.h"

/* 1 ends the stack, u->end says why. */
VERIFIED_ONCE int leave_for_other_stack(struct user_walk *u)
{
	__u64 sp;

	if (!u)
		return 1;
	sp = OTHER_STACK_SWITCH(u->rule.cfa_offset) == GO_SYSTEMSTACK ? sp_of_goroutine(u) : 0;
	/* the function has saved x30 at sp, and x29 below */
	if (!sp || sp & 15 || read_stack(u, u->pair, 16, sp - 8) < 16 || !u->pair[1]) {
		u->end = END_UNSUPPORTED;
		return 1;
	}
	u->frame.ip = u->pair[1];
	u->frame.reg[EH_X29] = u->pair[0];
	u->frame.reg[EH_SP] = sp + u->rule.deref_offset;
	u->frame.known = 1u << EH_SP | 1u << EH_X29 | 1u << GO_G;
	u->frame.by_call = true;
	u->todo = TODO_ENTER;
	return 0;
}

#endif
