// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go's changes of stacks, over a g0, a goroutine g and their m made by hand, with the fields where
 * go1.19's runtime2.go has them: struct g has stack.lo, stack.hi at 0 and 8, m at 0x30, sched.sp at
 * 0x38; struct m has g0 at 0. Where curg lies is the table's to say.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "made_memory.h"
#include "walk/goroutine.bpf.h"

#define WORD(addr)  stack[((addr)-STACK) / 8]
#define G0          (STACK + 0x00) /* these lie one behind the other */
#define G           (STACK + 0x40)
#define M           (STACK + 0x80)
#define CURG        0x18
#define SLOT        48             /* of asmcgocall */
#define G0_STACK    (STACK + 0xc0) /* to */
#define G_STACK     (STACK + 0x140)
#define G_STACK_END (STACK + 0x1f8)

static struct user_walk unwind;

/* a walk on g0's stack, in r14 the g that runs */
static struct user_walk *walk(uint64_t r14, int which)
{
	unwind = (struct user_walk){};
	unwind.frame.known = KNOWN_ALL;
	unwind.frame.by_call = true;
	unwind.frame.reg[EH_RSP] = G0_STACK;
	unwind.frame.reg[GO_G] = r14;
	unwind.rule = (struct eh_rule){
		.kind = RULE_OTHER_STACK,
		.cfa_offset = which | (which == GO_ASMCGOCALL ? SLOT : CURG) << 8,
		.deref_offset = 16,
	};
	memset(stack, 0, sizeof(stack));
	WORD(G + 0x00) = G_STACK;
	WORD(G + 0x08) = G_STACK_END;
	WORD(G + 0x30) = WORD(G0 + 0x30) = M;
	WORD(M) = G0;
	WORD(M + CURG) = G;
	return &unwind;
}

static bool ends(struct user_walk *u, enum end_reason why)
{
	return leave_for_other_stack(u) && u->end == (int)why;
}

static bool arrives(struct user_walk *u, uint64_t cfa, uint64_t g)
{
	return !leave_for_other_stack(u) && u->frame.ip == WORD(cfa - 8) &&
	       u->frame.reg[EH_RSP] == cfa && u->frame.reg[GO_G] == g &&
	       u->frame.known == (1 << EH_RSP | 1 << GO_G) && u->frame.by_call;
}

/* systemstack: g0 runs for g, whose sp is in g.sched */
static struct user_walk *systemstack(void)
{
	struct user_walk *u = walk(G0, GO_SYSTEMSTACK);

	WORD(G + 0x38) = G_STACK + 0x20;
	WORD(G_STACK + 0x28) = CODE + 1;
	return u;
}

/* cgocallback: g runs for g0, whose sched.sp names the place where the sched.sp before was kept */
static struct user_walk *cgocallback(void)
{
	struct user_walk *u = walk(G, GO_CGOCALLBACK);

	WORD(G0 + 0x38) = G0_STACK + 0x20;
	WORD(G0_STACK + 0x20) = G0_STACK + 0x70;
	WORD(G0_STACK + 0x28) = CODE + 2;
	return u;
}

/* asmcgocall: on g0's stack lie g and how deep its stack was */
static struct user_walk *asmcgocall(void)
{
	struct user_walk *u = walk(0, GO_ASMCGOCALL);

	WORD(G0_STACK + SLOT) = G;
	WORD(G0_STACK + SLOT - 8) = G_STACK_END - (G_STACK + 0x40);
	WORD(G_STACK + 0x48) = CODE + 3;
	return u;
}

int main(void)
{
	struct user_walk *u;

	check(arrives(systemstack(), G_STACK + 0x30, G));
	u = systemstack();
	u->frame.known &= ~(1 << GO_G);
	check(ends(u, END_UNSUPPORTED), "the running g is not known");
	u = systemstack();
	WORD(M + CURG) = G0;
	check(ends(u, END_UNSUPPORTED), "g0 runs for itself");
	u = systemstack();
	WORD(G + 0x30) = G0;
	check(ends(u, END_UNSUPPORTED), "g is another thread's by now");
	u = systemstack();
	WORD(G + 0x38) += 4;
	check(ends(u, END_UNSUPPORTED), "no sp");
	u = systemstack();
	WORD(G_STACK + 0x28) = 0;
	check(ends(u, END_UNSUPPORTED), "no return address");
	u = systemstack();
	u->go_sp = G0_STACK + 0x20;
	check(ends(u, END_UNSUPPORTED), "C has called Go since, and g.sched was used again");

	u = cgocallback();
	check(arrives(u, G0_STACK + 0x30, G0) && u->go_sp == G0_STACK + 0x70,
	      "and the sched.sp before is kept");
	u = cgocallback();
	u->go_sp = G0_STACK + 0x20;
	WORD(G0 + 0x38) = G0_STACK + 8;
	check(arrives(u, G0_STACK + 0x30, G0),
	      "the second one of a stack goes by what the first has kept");
	u = cgocallback();
	WORD(M + CURG) = G0;
	check(ends(u, END_UNSUPPORTED), "g is not what m runs");

	check(arrives(asmcgocall(), G_STACK + 0x50, G));
	u = asmcgocall();
	WORD(G0_STACK + 40) = G_STACK_END - G_STACK + 8;
	check(ends(u, END_UNSUPPORTED), "deeper than the stack goes");

	u = asmcgocall();
	u->rule.cfa_offset = GO_ASMCGOCALL;
	check(ends(u, END_UNSUPPORTED), "it is not known where g is kept");
	check(ends(walk(G0, GO_MORESTACK), END_COMPLETE), "as Go's own tracebacks");
	return check_done();
}
