/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walk/guess.bpf.h reads of arm64's instructions (Arm ARM, C4.1). */
#ifndef EHPERF_GUESS_CODE_BPF_H
#define EHPERF_GUESS_CODE_BPF_H

#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"

#define INSN_BYTES 4

/* the instruction at pc; 0, which is none (udf), if it cannot be read */
static __always_inline __u32 insn_at(struct user_walk *u, __u64 pc)
{
	return read_text(u, u->code, INSN_BYTES, pc) == INSN_BYTES ? *(loose_u32 *)u->code : 0;
}

#define IS_BL(insn) ((0xfc000000 & (insn)) == 0x94000000)
/* blr, blraa, blrab, blraaz, blrabz */
#define IS_BLR(insn) ((0xfffffc1f & (insn)) == 0xd63f0000 || (0xfefff800 & (insn)) == 0xd63f0800)
/* ret, retaa, retab */
#define IS_RET(insn) ((insn) == 0xd65f03c0 || (insn) == 0xd65f0bff || (insn) == 0xd65f0fff)
/* what functions begin with: stp x29, x30, [sp, #-n]!; paciasp, pacibsp; bti c */
#define IS_PUSH_RECORD(insn) ((0xffe07fff & (insn)) == 0xa9a07bfd)
#define IS_SIGN(insn)        ((insn) == 0xd503233f || (insn) == 0xd503237f)
#define BTI_C                0xd503245f
#define SVC                  0xd4000001
/*
 * mov x0, x0: before the call with which Go's goexit() begins, and behind it. goroutines return to
 * that call, and nobody calls it
 */
#define GO_NOP 0xaa0003e0
/* mov x8, #139: signal handlers return to that, the begin of the system call */
#define SIGRETURN 0xd2801168

VERIFIED_ONCE int follows_call(struct user_walk *u, __u64 ret)
{
	__u32 insn = u ? insn_at(u, ret - INSN_BYTES) : 0;

	if (IS_BL(insn) || IS_BLR(insn))
		return true;
	if (!u)
		return false;
	return insn == GO_NOP ? IS_BL(insn_at(u, ret)) : insn_at(u, ret) == SIGRETURN;
}

/* Does the call that ends at ret lead to just before pc? A direct one: clone()'s, say. */
static __always_inline bool calls_here(struct user_walk *u, __u64 ret, __u64 pc)
{
	__u32 insn = insn_at(u, ret - INSN_BYTES);
	__u64 to = ret - INSN_BYTES + (((__s64)((__u64)insn << 38)) >> 36);

	return IS_BL(insn) && to <= pc && pc - to < 256;
}

/*
 * While x30 has the return address, the frame pointer would skip the caller. The code shows this
 * for a leaf at any `ret`, at a function's beginning, and right behind the instruction that saves
 * both.
 */
static __always_inline bool returns_by_x30(struct user_walk *u)
{
	__u32 insn = insn_at(u, u->frame.ip);

	return IS_RET(insn) || IS_SIGN(insn) || insn == BTI_C || IS_PUSH_RECORD(insn);
}

/*
 * bytes that the instruction before has pushed, of which the return address is a part; 0: it has
 * not
 */
static __always_inline __u64 pushed_bytes(struct user_walk *u)
{
	__u32 insn = insn_at(u, u->frame.ip - INSN_BYTES);

	return IS_PUSH_RECORD(insn) ? 512 - ((insn >> 15 & 0x3f) * 8) : 0;
}

/* a leaf's return address is in x30 */
static __always_inline bool leave_at_once(struct user_walk *u)
{
	__u64 ret = RETURN_ADDRESS(u->frame.reg[EH_X30]), pushed;

	if (!(u->frame.known >> EH_X30 & 1))
		return false;
	pushed = pushed_bytes(u);
	if (!pushed && !returns_by_x30(u) &&
	    (u->rule.flags & RULE_FROM_CODE || !calls_here(u, ret, u->frame.ip)))
		return false;
	if (!CALL(follows_call, u, ret))
		return false;
	u->frame.known &= ~CALL_OVERWRITES;
	return leave_to(u, ret, u->frame.reg[EH_SP] + pushed);
}

/*
 * a thread about to begin: clone() and clone3() have returned 0 to it, there where they have no
 * CFI, and nothing lies above
 */
static __always_inline bool is_new_thread(struct user_walk *u)
{
	return u->stack.nr_frames == 1 && !u->frame.reg[0] &&
	       insn_at(u, u->last_ip - INSN_BYTES) == SVC;
}

#endif
