/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's functions that change stacks (RULE_OTHER_STACK in tables_abi.h): from the thread's own
 * stack, that of g0, to the goroutine's, and back (src/runtime/runtime2.go and asm_*.s). All values
 * are checked for consistency; if one is wrong, the stack ends with a reason.
 *
 * The machine's unwind_go.bpf.h defines:
 *
 *   GO_G            the register that holds the running g in Go code, and that C code preserves
 *   GO_SCHED_KEPT   where cgocallback keeps the sched.sp before, from its new one
 *   GO_CGO_G        where asmcgocall keeps the g that has called C, from its rule's slot
 *   GO_CGO_DEPTH    and how deep that g's stack was
 *   go_return()     sets the frame of the caller of a function that left its stack with this sp
 */
#ifndef EHPERF_WALK_GOROUTINE_BPF_H
#define EHPERF_WALK_GOROUTINE_BPF_H

#include "unwind_go.bpf.h"
#include "walk/state.bpf.h"

/* fields of struct g and struct m */
#define G_STACK_HI 0x08
#define G_M        0x30
#define G_SCHED_SP 0x38
#define M_G0       0x00

/* the word at addr; 0: there is none, or it is 0 */
static __always_inline __u64 word_at(struct user_walk *u, __u64 addr)
{
	return read_stack(u, u->pair, 8, addr) == 8 ? u->pair[0] : 0;
}

/* the m of the running g; 0: it is not known */
static __always_inline __u64 running_m(struct user_walk *u)
{
	return u->frame.known >> GO_G & 1 ? word_at(u, u->frame.reg[GO_G] + G_M) : 0;
}

static __always_inline __u64 curg_of(struct user_walk *u, __u64 m)
{
	__u32 offset = OTHER_STACK_OFFSET(u->rule.cfa_offset);

	return offset ? word_at(u, m + offset) : 0;
}

/*
 * From g0's stack to the goroutine's: the sp that it was left with, or 0. Not if C has called Go,
 * which used sched again.
 */
static __always_inline __u64 sp_of_goroutine(struct user_walk *u)
{
	__u64 m = running_m(u), g = m ? curg_of(u, m) : 0;

	if (!g || u->go_sp || g == u->frame.reg[GO_G] ||
	    word_at(u, m + M_G0) != u->frame.reg[GO_G] || word_at(u, g + G_M) != m)
		return 0;
	u->frame.reg[GO_G] = g;
	return word_at(u, g + G_SCHED_SP);
}

/* From a goroutine's stack back to g0's, where C has called Go. */
static __always_inline __u64 sp_of_thread(struct user_walk *u)
{
	__u64 m = running_m(u), g0 = m ? word_at(u, m + M_G0) : 0, sp;

	if (!g0 || g0 == u->frame.reg[GO_G] || curg_of(u, m) != u->frame.reg[GO_G] ||
	    word_at(u, g0 + G_M) != m)
		return 0;
	sp = u->go_sp ? u->go_sp : word_at(u, g0 + G_SCHED_SP);
	u->go_sp = word_at(u, sp + GO_SCHED_KEPT);
	u->frame.reg[GO_G] = g0;
	return u->go_sp ? sp : 0;
}

/* From g0's stack to the goroutine's that has called C. */
static __always_inline __u64 sp_of_cgo_caller(struct user_walk *u)
{
	__u32 offset = OTHER_STACK_OFFSET(u->rule.cfa_offset);
	__u64 slot = u->frame.reg[REG_SP] + offset, g, hi, depth;

	if (!offset)
		return 0;
	g = word_at(u, slot + GO_CGO_G);
	hi = g ? word_at(u, g + G_STACK_HI) : 0;
	depth = word_at(u, slot + GO_CGO_DEPTH);
	if (!depth || depth > hi || word_at(u, g) > hi - depth)
		return 0;
	u->frame.reg[GO_G] = g;
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
	__u64 sp;

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
	if (!sp || !go_return(u, sp)) {
		u->end = END_UNSUPPORTED;
		return 1;
	}
	u->frame.reg[REG_SP] = sp + u->rule.deref_offset;
	u->frame.known |= 1u << REG_SP | 1u << GO_G;
	u->frame.by_call = true;
	u->todo = TODO_ENTER;
	return 0;
}

#endif
