/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From g0's stack to the goroutine's. Go's runtime keeps the sp of the other stack
 * (src/runtime/runtime2.go). GO_G: the register that holds the running g. All values are checked
 * for consistency; if one is wrong, the stack ends with a reason.
 */
#ifndef EHPERF_WALK_GOROUTINE_BPF_H
#define EHPERF_WALK_GOROUTINE_BPF_H

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

#endif
