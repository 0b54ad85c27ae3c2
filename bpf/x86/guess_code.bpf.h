/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walk/guess.bpf.h reads of x86-64's instructions. */
#ifndef EHPERF_GUESS_CODE_BPF_H
#define EHPERF_GUESS_CODE_BPF_H

#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"

static __always_inline bool read_code(struct user_walk *u, __u64 pc, __u32 bytes)
{
	return read_text(u, u->code, bytes, pc) == bytes;
}

/*
 * ff /2 and ff /4: call and jmp through a register or memory (Intel SDM vol. 2A); modrm is the byte
 * behind ff
 */
#define IS_CALL(modrm) ((0x38 & (modrm)) == 0x10)
/* ff /4 with a SIB byte and an index register, without displacement: jmp *(base,index,scale) */
#define IS_TABLE_JUMP(modrm) ((modrm) == 0x24)

/*
 * Does a call end at ret, c being the 8 bytes before it? E8 rel32, or FF /2 with its operands of 0
 * to 5 bytes
 */
static __always_inline bool ends_in_call(const __u8 *c)
{
	return c[3] == 0xe8 || (c[6] == 0xff && IS_CALL(c[7])) || (c[5] == 0xff && IS_CALL(c[6])) ||
	       (c[4] == 0xff && IS_CALL(c[5])) || (c[2] == 0xff && IS_CALL(c[3])) ||
	       (c[1] == 0xff && IS_CALL(c[2]));
}

/*
 * HotSpot's interpreter pushes a return address and jumps; that leads to the entry that comes
 * behind the dispatch of the one before, `jmp *(%r10,%rbx,8)`
 * (TemplateInterpreterGenerator::generate_return_entry_for() and
 * InterpreterMacroAssembler::dispatch_base() in OpenJDK's hotspot/cpu/x86). Compilers' switches end
 * in such a jump, too, so it counts only in code of no file.
 */
static __always_inline bool ends_in_dispatch(struct user_walk *u, __u64 ret)
{
	return u->code[5] == 0xff && IS_TABLE_JUMP(u->code[6]) && find_mapping(u, ret) &&
	       !u->mapping.module_id;
}

/* Does a call, or a push and jump that replaces a call, end there? */
VERIFIED_ONCE int follows_call(struct user_walk *u, __u64 ret)
{
	return u && read_code(u, ret - 8, 8) && (ends_in_call(u->code) || ends_in_dispatch(u, ret));
}

/* Does the call that ends at ret lead to just before pc? A direct one: clone()'s, say. */
static __always_inline bool calls_here(struct user_walk *u, __u64 ret, __u64 pc)
{
	__u64 to;

	if (!read_code(u, ret - 5, 5) || u->code[0] != 0xe8)
		return false;
	to = ret + (*(const loose_u32 *)u->code >> 8) + (__s8)u->code[4] * (__s64)(1 << 24);
	return to <= pc && pc - to < 256;
}

#define RET      0xc3
#define INT3     0xcc /* between LLVM's and V8's functions, never within one */
#define PUSH_RBP 0x55
#define POP_RBP  0x5d
/* mov %rsp, %rbp, in either encoding */
#define SETS_RBP(c)        \
	((c)[0] == 0x48 && \
	 (((c)[1] == 0x89 && (c)[2] == 0xe5) || ((c)[1] == 0x8b && (c)[2] == 0xec)))
/* jmp rel32, rel8, through a register or memory */
#define IS_JUMP(c) ((c)[0] == 0xe9 || (c)[0] == 0xeb || ((c)[0] == 0xff && ((c)[1] & 0x38) == 0x20))

/*
 * While a function has not set its frame pointer yet, or has restored the caller's, the frame
 * pointer would skip the caller. The code shows this at any `ret`, and for a leaf also at a
 * function's beginning and at a tail call. Returns how many bytes are on top of the return address;
 * -1: not known
 */
static __always_inline int bytes_on_return(struct user_walk *u)
{
	const __u8 *before = u->code, *c = u->code + 1;

	if (!read_code(u, u->frame.ip - 1, 6))
		return -1;
	if (c[0] == RET)
		return 0;
	if (u->stack.nr_frames > 1)
		return -1;
	if ((c[0] == PUSH_RBP && SETS_RBP(c + 1)) || (before[0] == POP_RBP && IS_JUMP(c)) ||
	    (before[0] == INT3 && !(u->frame.ip & 15)))
		return 0;
	return before[0] == PUSH_RBP && SETS_RBP(c) ? 8 : -1;
}

/*
 * with the return address on top of the stack, or below a saved rbp; or a leaf that is called by a
 * call to right here
 */
static __always_inline bool leave_at_once(struct user_walk *u)
{
	__u64 rsp = u->frame.reg[EH_RSP], pc = u->frame.ip, ret;
	int on_return = bytes_on_return(u);

	if (on_return < 0 && (u->stack.nr_frames > 1 || u->rule.flags & RULE_FROM_CODE))
		return false;
	if (read_stack(u, u->pair, 16, rsp) < 16 &&
	    (on_return > 0 || read_stack(u, u->pair, 8, rsp) < 8))
		return false;
	ret = on_return > 0 ? u->pair[1] : u->pair[0];
	if (!CALL(follows_call, u, ret) || (on_return < 0 && !calls_here(u, ret, pc)))
		return false;
	if (on_return > 0)
		u->frame.reg[EH_RBP] = u->pair[0];
	return leave_to(u, ret, rsp + 8 + (on_return > 0 ? 8 : 0));
}

#define SYSCALL 0x050f

/*
 * a thread about to begin: clone() and clone3() have returned 0 to it, there where they have no
 * CFI, and nothing lies above
 */
static __always_inline bool is_new_thread(struct user_walk *u)
{
	return u->stack.nr_frames == 1 && !u->frame.reg[0] && read_code(u, u->last_ip - 2, 2) &&
	       *(loose_u16 *)u->code == SYSCALL;
}

#endif
