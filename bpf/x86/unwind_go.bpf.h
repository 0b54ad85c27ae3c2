/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's functions that change stacks (RULE_OTHER_STACK in tables_abi.h): from the thread's own
 * stack, that of g0, to the goroutine's, and back (src/runtime/asm_amd64.s). r14 holds the running
 * g in Go code, and C code preserves it.
 */
#ifndef EHPERF_UNWIND_GO_BPF_H
#define EHPERF_UNWIND_GO_BPF_H

#define EH_R14 (EH_R12 + 2)
#define GO_G   EH_R14
#include "walk/goroutine.bpf.h"

/*
 * From a goroutine's stack back to g0's, where C has called Go. cgocallback keeps the sched.sp
 * before at its new one.
 */
static __always_inline __u64 sp_of_thread(struct user_walk *u)
{
	__u64 m = running_m(u), g0 = m ? word_at(u, m + M_G0) : 0, sp;

	if (!g0 || g0 == u->frame.reg[EH_R14] || curg_of(u, m) != u->frame.reg[EH_R14] ||
	    word_at(u, g0 + G_M) != m)
		return 0;
	sp = u->go_sp ? u->go_sp : word_at(u, g0 + G_SCHED_SP);
	u->go_sp = word_at(u, sp);
	u->frame.reg[EH_R14] = g0;
	return u->go_sp ? sp : 0;
}

/*
 * From g0's stack to the goroutine's that has called C. Before the call, what it keeps is not there
 * yet.
 */
static __always_inline __u64 sp_of_cgo_caller(struct user_walk *u)
{
	__u32 offset = OTHER_STACK_OFFSET(u->rule.cfa_offset);
	__u64 slot = u->frame.reg[EH_RSP] + offset, g, hi, depth;

	if (!u->frame.by_call || !offset)
		return 0;
	g = word_at(u, slot);
	hi = g ? word_at(u, g + G_STACK_HI) : 0;
	depth = word_at(u, slot - 8);
	if (!depth || depth > hi || word_at(u, g) > hi - depth)
		return 0;
	u->frame.reg[EH_R14] = g;
	return hi - depth;
}

static __always_inline __u64 sp_of_other_stack(struct user_walk *u, __u32 which)
{
	switch (which) {
	case GO_SYSTEMSTACK:
		return sp_of_goroutine(u);
	case GO_CGOCALLBACK:
		return sp_of_thread(u);
	case GO_ASMCGOCALL:
		return sp_of_cgo_caller(u);
	default:
		return 0;
	}
}

/* 1 ends the stack, u->end says why. */
VERIFIED_ONCE int leave_for_other_stack(struct user_walk *u)
{
	__u64 sp, cfa;

	if (!u)
		return 1;
	/*
	 * the scheduler may have been called from there, and the goroutine run elsewhere by now:
	 * Go's tracebacks end here, too
	 */
	if (OTHER_STACK_SWITCH(u->rule.cfa_offset) == GO_MORESTACK) {
		u->end = END_COMPLETE;
		return 1;
	}
	sp = sp_of_other_stack(u, OTHER_STACK_SWITCH(u->rule.cfa_offset));
	cfa = sp + u->rule.deref_offset;
	if (!sp || sp & 7 || !word_at(u, cfa - 8)) {
		u->end = END_UNSUPPORTED;
		return 1;
	}
	u->frame.ip = u->pair[0];
	u->frame.reg[EH_RSP] = cfa;
	u->frame.known = 1u << EH_RSP | 1u << EH_R14;
	u->frame.by_call = true;
	u->todo = TODO_ENTER;
	return 0;
}

#endif
