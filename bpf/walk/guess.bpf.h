/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses the caller of a frame whose pc has no rule, from the stack's contents and the bytes of
 * the code. A guess is made only if no table has a rule, and the caller must be in code. Known code
 * at a fixed place in a file needs no guess: it has rows in the file's table
 * (libcommon/table/known_code.h).
 */
#ifndef EHPERF_WALK_GUESS_BPF_H
#define EHPERF_WALK_GUESS_BPF_H

#include "guess_code.bpf.h"
#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"

#define MAX_FRAME_BYTES (8 << 20)

/*
 * By the frame pointer, as JIT compilers keep it: it must point up the stack, and the return
 * address there must follow a call. After the first such step, it may point to another stack.
 */
static __always_inline bool leave_by_fp(struct user_walk *u)
{
	__u64 sp = u->frame.reg[REG_SP], fp = u->frame.reg[REG_FP];

	if (!(u->frame.known >> REG_FP & 1) || fp & 7 ||
	    ((fp < sp || fp - sp > MAX_FRAME_BYTES) && u->frame.known != KNOWN_BY_FP) ||
	    read_stack(u, u->pair, 16, fp) < 16 || !follows_call(u, RETURN_ADDRESS(u->pair[1])))
		return false;
	u->frame.reg[REG_FP] = u->pair[0];
	u->frame.known = KNOWN_BY_FP;
	u->by_fp = true;
	return leave_to(u, RETURN_ADDRESS(u->pair[1]), fp + 16);
}

/*
 * Finds the caller of a frame that has no rule; u->end_if_wrong says why it has none. 1 ends the
 * stack.
 */
VERIFIED_ONCE int leave_by_guess(struct user_walk *u)
{
	if (!u)
		return 1;
	/* the ABI's mark of the outermost frame, where frame pointers led */
	if (u->frame.known == KNOWN_BY_FP && !u->frame.reg[REG_FP]) {
		u->end = END_COMPLETE;
		return 1;
	}
	if (!leave_at_once(u) && (u->rule.flags & RULE_FROM_CODE || !leave_by_fp(u))) {
		u->end = is_new_thread(u) ? END_COMPLETE : u->end_if_wrong;
		return 1;
	}
	u->guessed = true;
	u->frame.by_call = true;
	u->todo = TODO_ENTER;
	return 0;
}

#endif
