/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One frame's step: a rule, the frame's registers and a window of its stack give the caller's
 * registers. Pure: no helper, no map; the kernel, the host and the unit tests run this same code.
 */
#ifndef EHPERF_WALK_STEP_BPF_H
#define EHPERF_WALK_STEP_BPF_H

#include "stacks_abi.h"
#include "tables_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/*
 * Reads a field in map memory again each time. The verifier remembers what it knows of a value in a
 * register (results of comparisons, bits that are set), and may then follow every combination of
 * the branches below separately: up to 3 to the power of 7 paths through one step (on x86-64). How
 * many of them it prunes differs between versions. Of a value that was just read from memory, the
 * verifier knows only the width. So after each branch, with only pointers in registers, the paths
 * are equal again, and it merges them.
 */
#define AGAIN(field) (*(const volatile __typeof__(field) *)&(field))

/* x & mask, which the compiler must not leave out where it knows better than the verifier */
#ifdef __bpf__
#define MASKED(x, mask)                                          \
	({                                                       \
		__u64 x_ = (x);                                  \
		asm volatile("%0 &= %1" : "+r"(x_) : "i"(mask)); \
		x_;                                              \
	})
#else
#define MASKED(x, mask) ((x) & (mask))
#endif

/*
 * Words at any address in bytes. BPF programs use aligned types, because clang loads unaligned
 * words byte by byte.
 */
#ifdef __bpf__
#define LOOSE
#else
#define LOOSE __attribute__((aligned(1), may_alias))
#endif
typedef __u16 LOOSE loose_u16;
typedef __u32 LOOSE loose_u32;
typedef __u64 LOOSE loose_u64;

#define WINDOW_BYTES 1024

struct window {
	__u64 base; /* address of bytes[0] */
	__u32 len;  /* valid bytes */
	__u32 pad;
	__u8 bytes[WINDOW_BYTES + 8];
};

/*
 * The state of one step. reg[] and ip are the frame's at first; the step replaces them by the
 * caller's, in the order of rule.saved[], and .stage says how many are done. Bit i of .known:
 * reg[i] has a value. If stack bytes are missing, the next call goes on where this one stopped.
 */
struct frame_state {
	__u64 reg[EH_NR_REGS]; /* DWARF numbers */
	__u64 ip;
	__u32 known;
	__u32 stage;      /* 0: CFA not known yet; i + 1: the registers of saved[0..i-1] are done */
	__u64 cfa;        /* from stage 1 on: */
	__u64 base;       /* the frame's own base_reg, */
	__u32 base_known; /* enum base_known */
	__u32 by_call;    /* ip is a return address; else it is what runs next */
	__u32 by_record;  /* from stage 1 on: the CFA is has_record_only()'s */
	__u32 pad;
};

enum base_known { BASE_UNKNOWN, BASE_KNOWN, BASE_POPPED };

#define KNOWN_ALL ((__u32)((1ULL << EH_NR_REGS) - 1))

/* results besides enum end_reason, which says that the stack ends at this frame */
enum { STEP_OK = -1, STEP_NEEDS_STACK = -2 };

/*
 * The callee-saved registers except the stack and frame pointers. A function whose CFA is
 * relative to one of them has saved sp there, to realign the stack or to switch to another, which
 * may lie anywhere. OCaml 5 switches to call C.
 */
#define MAY_KEEP_SP (KNOWN_CALLEE_SAVED & ~(1u << REG_FP))

/*
 * Does saved[i] refer to base_reg? SAVED_SAME is its value then, and an offset is relative to that
 * value.
 */
static __always_inline int in_base(const struct eh_rule *rule, __u32 i)
{
	return AGAIN(rule->from_base) >> i & 1;
}

/* Is the return address still where the call has put it? */
static __always_inline int returns_by_register(const struct eh_rule *rule)
{
	return RA_IN_REGISTER && AGAIN(rule->saved[SAVED_RA]) == SAVED_SAME &&
	       !in_base(rule, SAVED_RA);
}

/* 1 with *value set, or 0: the window does not have these 8 bytes */
static __always_inline int window_read(const struct window *window, __u64 addr, __u64 *value)
{
	__u64 at = addr - AGAIN(window->base);

	if (at >= WINDOW_BYTES || at + 8 > AGAIN(window->len))
		return 0;
	*value = *(const loose_u64 *)(window->bytes + MASKED(at, WINDOW_BYTES - 1));
	return 1;
}

/*
 * After a step by frame pointer, arm64's sp is unknown: a frame record may lie anywhere in its
 * frame. If the rule stores x29 and x30 side by side, they are the record, and x29 points to it
 * (AAPCS64, 6.2.3). But x29 may be a general register here. So the frame is a guess (FRAME_BY_FP):
 * a call must precede the return address.
 */
static __always_inline int has_record_only(const struct eh_rule *rule,
					   const struct frame_state *frame)
{
	return rule->kind == RULE_REG && rule->cfa_reg == REG_SP && frame->known == KNOWN_BY_FP &&
	       AGAIN(rule->saved[SAVED_FP]) < 0 && AGAIN(rule->saved[SAVED_FP]) > SAVED_ODD &&
	       AGAIN(rule->saved[SAVED_RA]) == AGAIN(rule->saved[SAVED_FP]) + 1 &&
	       !AGAIN(rule->from_base);
}

static __always_inline int step_cfa(const struct eh_rule *rule, struct frame_state *frame,
				    const struct window *window, __u64 *need)
{
	__u64 base, word;

	if (RA_IN_REGISTER)
		frame->by_record = has_record_only(rule, frame);
	if (RA_IN_REGISTER && frame->by_record) {
		frame->cfa = frame->reg[REG_FP] - AGAIN(rule->saved[SAVED_FP]) * 8LL;
		return STEP_OK;
	}
	if (!(frame->known >> rule->cfa_reg & 1))
		return END_UNKNOWN_REGISTER;
	base = frame->reg[rule->cfa_reg];
	if (rule->kind == RULE_INDEXED) {
		__u32 index = INDEXED_REG(rule->cfa_offset);

		if (!(frame->known >> index & 1))
			return END_UNKNOWN_REGISTER;
		*need = base + rule->deref_offset + frame->reg[index] * 8;
		if (!window_read(window, *need, &base))
			return STEP_NEEDS_STACK;
		frame->cfa = base + INDEXED_PLUS(rule->cfa_offset);
		return STEP_OK;
	}
	if (rule->kind == RULE_DEREF || rule->kind == RULE_SUM) {
		*need = base + rule->deref_offset;
		if (!window_read(window, *need, &word))
			return STEP_NEEDS_STACK;
		base = word + (rule->kind == RULE_SUM ? base : 0);
	} else if (rule->kind == RULE_PLT) {
		base += ((frame->ip & 15) >= (__u64)rule->deref_offset) << 3;
	}
	frame->cfa = base + rule->cfa_offset;
	return STEP_OK;
}

/* the register of saved[i], as it is in the caller */
static __always_inline int step_saved(const struct eh_rule *rule, struct frame_state *frame,
				      const struct window *window, __u32 i, __u64 *need)
{
	__u64 *reg = i < SAVED_RA ? &frame->reg[saved_reg(i)] : &frame->ip, base = frame->cfa;
	__u32 bit = 1u << (i < SAVED_RA ? saved_reg(i) : REG_SP);
	__s8 where = AGAIN(rule->saved[i]);

	/* the return address, too: it is in frame->ip by now */
	if ((where == SAVED_SAME && !in_base(rule, i)) || AGAIN(frame->stage) > i + 1)
		return STEP_OK;
	if (where <= SAVED_ODD) {
		frame->known &= ~bit;
		return STEP_OK;
	}
	if (in_base(rule, i)) {
		if (AGAIN(frame->base_known) == BASE_UNKNOWN)
			return END_UNKNOWN_REGISTER;
		if (AGAIN(frame->base_known) == BASE_POPPED)
			return STEP_OK;
		base = AGAIN(frame->base);
	}
	if (where == SAVED_SAME) {
		*reg = base;
	} else {
		*need = base + where * 8LL;
		if (!window_read(window, *need, reg)) {
			frame->stage = i + 1;
			return STEP_NEEDS_STACK;
		}
	}
	frame->known |= bit;
	return STEP_OK;
}

/*
 * The value of base_reg in this frame. In a realigned frame, GCC's CFI gives the places of the
 * saved registers, rbp among them, relative to rbp, up to the function's end. After `pop %rbp`, rbp
 * is the caller's, and points outside this frame. Then all these registers have been restored.
 */
static __always_inline void step_base(const struct eh_rule *rule, struct frame_state *frame)
{
	__u64 sp = frame->reg[REG_SP];

	if (IS_BELOW_CFA(rule->base_reg)) {
		frame->base = frame->cfa + rule->deref_offset * 8LL;
		frame->base_known = BASE_KNOWN;
		return;
	}
	frame->base = frame->reg[rule->base_reg];
	frame->base_known = frame->known >> rule->base_reg & 1 ? BASE_KNOWN : BASE_UNKNOWN;
	if (!RA_IN_REGISTER && in_base(rule, SAVED_FP) && rule->base_reg == REG_FP &&
	    AGAIN(rule->saved[SAVED_FP]) == 0 && AGAIN(frame->base) - sp >= AGAIN(frame->cfa) - sp)
		frame->base_known = BASE_POPPED;
}

/*
 * STEP_OK: *frame is the caller's. STEP_NEEDS_STACK: call again, all else unchanged, when the
 * window holds the 8 bytes at *need. Otherwise an enum end_reason; END_COMPLETE: the frame is the
 * outermost.
 */
static __always_inline int unwind_step(const struct eh_rule *rule, struct frame_state *frame,
				       const struct window *window, __u64 *need)
{
	__u32 i;
	int result;

	if (frame->stage == 0) {
		if (rule->kind == RULE_NONE)
			return END_NO_ROW;
		if (rule->saved[SAVED_RA] == SAVED_LOST)
			return END_COMPLETE;
		if (rule->kind >= RULE_UNSUPPORTED || rule->saved[SAVED_RA] == SAVED_ODD ||
		    (!RA_IN_REGISTER && rule->saved[SAVED_RA] >= SAVED_SAME &&
		     !in_base(rule, SAVED_RA)))
			return END_UNSUPPORTED;
		/* a frame that has made a call has no return address in that register any more */
		if (returns_by_register(rule) && !(frame->known >> (EH_RA % EH_NR_REGS) & 1))
			return END_NO_PROGRESS;
		result = step_cfa(rule, frame, window, need);
		if (result != STEP_OK)
			return result;
		/*
		 * A frame that has made a call has its return address above sp. A leaf may have
		 * popped it: OCaml's caml_c_call has its CFA at sp for a few instructions, and the
		 * return address below.
		 */
		if (frame->cfa < frame->reg[REG_SP] +
					 (AGAIN(frame->by_call) && !in_base(rule, SAVED_RA)) &&
		    rule->kind != RULE_DEREF && rule->kind != RULE_INDEXED &&
		    !(rule->flags & RULE_CROSSES) && !(MAY_KEEP_SP >> rule->cfa_reg & 1))
			return END_NO_PROGRESS;
		step_base(rule, frame);
		/*
		 * Assembly may know that its own callee preserves more registers, and its CFI may
		 * use them (aesni_gcm_encrypt: at a call, the CFA is rax + 8). So a register
		 * without a rule keeps its value, as in gdb and libgcc. Of a signal frame, only
		 * callee-saved registers keep theirs.
		 */
		if (returns_by_register(rule))
			frame->ip = frame->reg[EH_RA % EH_NR_REGS];
		frame->known &= rule->flags & RULE_SIGNAL ? KNOWN_CALLEE_SAVED : ~CALL_OVERWRITES;
		frame->stage = 1;
	}

	UNROLL
	for (i = 0; i < NR_SAVED; i++) {
		result = step_saved(rule, frame, window, i, need);
		if (result != STEP_OK)
			return result;
	}
	frame->reg[REG_SP] = frame->cfa;
	frame->known |= 1u << REG_SP;
	frame->stage = 0;
	return STEP_OK;
}

#endif
