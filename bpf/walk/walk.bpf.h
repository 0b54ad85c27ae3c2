/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk from frame to frame. It enters a frame (finds its mapping, and records it), looks up its
 * rule, computes the caller's registers by the rule (the step), and goes on to the caller's frame.
 * The kernel and the host run this code.
 *
 * Only this header and the code that makes a file's table (unwind_table.h) decide which source of a
 * rule is used. A pc's rule comes from the first of these that has one: known code, Go's own
 * tables, CFI, rules derived from instructions. If none has, the caller is guessed
 * (walk/guess.bpf.h).
 */
#ifndef EHPERF_WALK_WALK_BPF_H
#define EHPERF_WALK_WALK_BPF_H

#include "runtimes.bpf.h"
#include "stack_hash.bpf.h"
#include "walk/goroutine.bpf.h"
#include "walk/guess.bpf.h"
#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"

/*
 * Loads the window so that it has the 8 bytes at addr. It begins a little below addr, but not below
 * sp, and has as many bytes as can be read. If a page is missing, it goes from addr to its page's
 * end.
 */
static __always_inline bool load_window(struct user_walk *u, __u64 addr)
{
	/* the other registers are mostly saved below this one */
	__u64 base = addr - (NR_SAVED - 1) * 8;
	__u32 len;

	if (base < u->frame.reg[REG_SP] || base > addr)
		base = addr;
	u->window.base = base;
	u->window.len = read_stack(u, u->window.bytes, WINDOW_BYTES, base);
	if (u->window.len >= addr - base + 8)
		return true;

	/* a page is missing: read only addr's page */
	len = 4096 - (addr & 4095);
	if (len > WINDOW_BYTES)
		len = WINDOW_BYTES;
	u->window.base = addr;
	u->window.len = read_stack(u, u->window.bytes, len, addr);
	return u->window.len >= 8;
}

/* ---- enter ---- */

/*
 * Restores the return address if it was hijacked. False: call again, because the first entry of
 * u->hijacked was skipped. That entry lies below this frame, could not be read, or belongs to a
 * call that longjmp() has left, and whose place another call has taken.
 */
VERIFIED_ONCE int restore_return_address(struct user_walk *u)
{
	__u64 slot = u ? u->frame.reg[REG_SP] - CFA_AT_ENTRY : 0;
	struct hijacked_return r = {};

	if (!u || (read_hijacked(u, &r) && r.slot > slot))
		return true;
	u->hijacked = r.next;
	if (r.slot != slot || u->frame.ip != u->trampoline)
		return false;
	u->frame.ip = r.ip;
	return true;
}

static __always_inline __u64 offset_in_file(const struct user_walk *u, __u64 addr)
{
	return addr - u->mapping.start + u->mapping.file_offset;
}

/* keep_frame() where the stack is deeper than most */
VERIFIED_ONCE int keep_deep_frame(struct user_walk *u, __u32 nr, __u64 frame)
{
	__u32 place;
	__u64 *deep;

	if (!u || !u->max_depth)
		return 0;
	place = frame_place(nr, u->max_depth);
	if (place >= u->max_depth)
		return 0;
	if (place < DEFAULT_DEPTH) {
		u->frames[MASKED(place, DEFAULT_DEPTH - 1)] = frame;
		return 0;
	}
	deep = deep_frames(u);
	if (deep)
		deep[MASKED(place, MAX_DEPTH - 1)] = frame;
	return 0;
}

static __always_inline void keep_frame(struct user_walk *u, __u32 nr, __u64 frame)
{
	if (nr < u->near_depth)
		u->frames[nr & (DEFAULT_DEPTH - 1)] = frame;
	else
		CALL(keep_deep_frame, u, nr, frame);
}

/* Records a frame, which has no FRAME_BY_FP yet. */
static __always_inline void record_frame(struct user_walk *u, __u64 frame)
{
	frame |= u->by_fp * FRAME_BY_FP;
	u->last_ip = u->frame.ip;
	u->recorded = frame;
	keep_frame(u, u->stack.nr_frames++, frame);
	u->hash = hash_word(u->hash, frame);
	u->by_fp = u->guessed = false;
}

/* the frame, encoded as in stacks_abi.h, without FRAME_BY_FP */
static __always_inline __u64 frame_of(const struct user_walk *u, bool mapped)
{
	__u64 frame = offset_in_file(u, u->frame.ip);

	if (mapped && u->mapping.module_id && frame < 1ULL << FRAME_OFFSET_BITS)
		frame |= (__u64)u->mapping.module_id << FRAME_OFFSET_BITS;
	else
		frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);
	return frame | u->frame.by_call * FRAME_CALL;
}

/*
 * The end reason of a stack whose last return address is outside of all code. A return address of 0
 * is the outermost end, unless it was guessed.
 */
static __always_inline int end_of_stack(const struct user_walk *u)
{
	if (u->guessed)
		return u->end_if_wrong;
	return u->frame.ip ? END_NO_MAPPING : END_COMPLETE;
}

/* ---- memo ---- */

static __always_inline __u64 memo_pc(const struct user_walk *u)
{
	return u->frame.ip | u->frame.by_call * MEMO_BY_CALL;
}

static __always_inline struct frame_memo *memo_of(struct user_walk *u)
{
	__u64 spread = (u->frame.ip + u->generation) * 0x9e3779b97f4a7c15ULL;

	return &u->memos[MASKED(spread >> (64 - MEMOS_SHIFT), (1 << MEMOS_SHIFT) - 1)];
}

/* Enters the frame and takes its rule from the memo. False: the memo does not have them */
static __always_inline bool recall_frame(struct user_walk *u)
{
	const struct frame_memo *memo = memo_of(u);

	if (AGAIN(memo->pc) != memo_pc(u) || AGAIN(memo->generation) != u->generation)
		return false;
	u->rule = memo->rule;
	u->todo = TODO_STEP;
	record_frame(u, memo->frame);
	return true;
}

/*
 * Keeps the frame and its rule in the memo, if the rule is from its file's CFI. Other rules depend
 * on more than the pc, or may be replaced. Without a rule, the walk also needs the mapping, which
 * the memo does not keep.
 */
static __always_inline void remember_frame(struct user_walk *u)
{
	struct frame_memo *memo;

	if (u->todo != TODO_CFI || u->module.pending & PENDING_ROWS ||
	    u->rule.flags & (RULE_FROM_CODE | RULE_NOTED) || u->rule.kind == RULE_NONE ||
	    u->rule.kind >= RULE_UNSUPPORTED)
		return;
	memo = memo_of(u);
	memo->pc = memo_pc(u);
	memo->frame = u->recorded & ~FRAME_BY_FP;
	memo->rule = u->rule;
	memo->generation = u->generation;
}

/* ---- enter, and find the mapping ---- */

/* false: the stack ends, u->end says why */
static __always_inline bool enter_frame(struct user_walk *u)
{
	bool mapped = find_mapping(u, u->frame.ip - u->frame.by_call);

	if (!mapped && u->stack.nr_frames) { /* only the leaf is recorded without a mapping */
		u->end = end_of_stack(u);
		return false;
	}
	record_frame(u, frame_of(u, mapped));
	u->todo = TODO_CFI;
	u->end_if_wrong = u->module.id ? END_NO_ROW : END_NO_TABLE;
	if (!mapped)
		u->end = END_NO_MAPPING;
	return mapped;
}

/* ---- rule ---- */

/*
 * Checks that JIT code is still the code for which its rule was made. If so, the frame gets the
 * rule's tag. The tag distinguishes it from frames of other code at the same address, also in other
 * processes.
 */
VERIFIED_ONCE int apply_jit_rule(struct user_walk *u)
{
	if (!u)
		return 0;
	if (!is_word(u, u->note.at, u->note.word)) {
		u->rule = (struct eh_rule){};
		return 0;
	}
	if (!u->note.tag || !u->stack.nr_frames)
		return 0;
	keep_frame(u, u->stack.nr_frames - 1, u->recorded | (__u64)u->note.tag << FRAME_TAG_SHIFT);
	u->hash = hash_word(u->hash, (__u64)u->tgid << 32 | u->note.tag);
	if (u->rule.flags & RULE_INTERPRETED && u->rule.kind == RULE_DEREF)
		record_function(u);
	return 0;
}

/* Looks up the rule in the table that u->todo names. false: the stack ends, u->end says why */
static __always_inline bool look_up_rule(struct user_walk *u)
{
	__u32 todo;

	if (u->module.pending & (u->todo >= TODO_CODE ? PENDING_CODE : PENDING_CFI)) {
		u->wants_table = true;
		u->end = u->todo >= TODO_CODE ? END_NO_ROW : END_NO_TABLE;
		return false;
	}
	todo = AGAIN(u->todo);
	find_rule(u, TODO_TABLE(todo),
		  offset_in_file(u, u->frame.ip - (u->frame.by_call ^ TODO_IS_BESIDE(todo))));
	if (u->rule.flags & RULE_NOTED)
		CALL(apply_jit_rule, u);
	remember_frame(u);
	return true;
}

/*
 * No rule covers this pc. Chooses the next place to search: the byte beside the pc, then the next
 * table. The byte beside it is right in two cases: makecontext() uses a function's first byte as a
 * return address; and if a leaf's function ends with a system call (rt_sigreturn in __restore_rt),
 * the pc lies behind it. False: no place is left.
 */
static __always_inline bool try_fallback_tables(struct user_walk *u)
{
	bool in_syscall = u->in_syscall && u->stack.nr_frames == 1;

	if (u->module.pending & PENDING_ROWS && !(u->rule.flags & RULE_FROM_CODE))
		return false;
	if (u->todo == TODO_CFI && (u->frame.by_call || in_syscall))
		u->todo = TODO_CFI_BESIDE;
	else if (u->todo < TODO_CODE &&
		 (u->module.pending & PENDING_CODE || u->module.tables[TABLE_CODE].nr_pages))
		u->todo = TODO_CODE;
	else if (u->todo == TODO_CODE && in_syscall)
		u->todo = TODO_CODE_BESIDE;
	else
		return false;
	return true;
}

/* Is the pc in the code at the ELF entry point, which no FDE covers? */
static __always_inline bool is_entry(const struct user_walk *u)
{
	__u64 offset = offset_in_file(u, u->frame.ip - u->frame.by_call);

	return offset >= u->module.entry_start && offset < u->module.entry_end;
}

/* ---- step ---- */

/*
 * The step needs the 8 bytes at addr. false: they cannot be read, and the step cannot go on without
 * them
 */
VERIFIED_ONCE int load_stack(struct user_walk *u, __u64 addr)
{
	__u32 i;

	if (!u)
		return false;
	u->todo = TODO_STEP;
	if (load_window(u, addr))
		return true;
	/*
	 * After the instruction `leave`, GCC's CFI is wrong for saved registers. So one that cannot
	 * be read becomes unknown, and the step goes on.
	 */
	if (!u->frame.stage || u->frame.stage > SAVED_RA)
		return false;
	i = MASKED(u->frame.stage - 1, 15);
	u->rule.saved[i] = SAVED_LOST;
	u->rule.from_base &= ~(1 << i);
	return true;
}

/* ---- leave ---- */

/*
 * Where the return address is in a register, entry code clears it, as it clears the frame pointer.
 */
static __always_inline bool is_called_by_entry(struct user_walk *u)
{
	return RA_IN_REGISTER && !RETURN_ADDRESS(u->frame.ip) && u->frame.known >> REG_FP & 1 &&
	       !u->frame.reg[REG_FP];
}

/* The step is done. 1 ends the stack, u->end says why. */
static __always_inline int leave_frame(struct user_walk *u)
{
	bool by_record = RA_IN_REGISTER && u->frame.by_record;

	u->todo = TODO_ENTER;
	u->frame.by_call = !(u->rule.flags & RULE_SIGNAL);
	if (by_record)
		u->by_fp = true;
	/*
	 * A rule from code assumes that a call precedes the return address. If none does, the stack
	 * ends.
	 */
	if (!(u->rule.flags & RULE_FROM_CODE || by_record) || u->hijacked ||
	    CALL(follows_call, u, RETURN_ADDRESS(u->frame.ip)))
		return 0;
	if (by_record) {
		u->end = END_UNKNOWN_REGISTER;
		return 1;
	}
	u->end = is_new_thread(u) || is_called_by_entry(u) ? END_COMPLETE : END_NO_ROW;
	return 1;
}

/* No table has a rule. 1 ends the stack, u->end says why. */
static __always_inline int leave_without_rule(struct user_walk *u)
{
	if (u->module.pending & PENDING_ROWS && !(u->rule.flags & RULE_FROM_CODE)) {
		u->wants_table = true;
		u->end = END_NO_ROW;
		return 1;
	}
	if (!is_entry(u) && !(u->module.pending & NO_CODE_TABLE))
		return CALL(leave_by_guess, u);
	u->end = is_entry(u) ? END_COMPLETE : END_NO_TABLE;
	return 1;
}

/* ---- the walk ---- */

/*
 * Goes from a frame to its caller; or a part of the way, if another table is to be searched, a
 * window was loaded or a hijacked return was skipped: then call again. 1: the stack ends, and
 * u->end says why.
 */
static __always_inline int unwind_frame(struct user_walk *u)
{
	__u64 need = 0;
	int result;

	if (u->todo == TODO_ENTER) {
		u->frame.ip = RETURN_ADDRESS(u->frame.ip);
		if (u->hijacked && u->frame.by_call && !CALL(restore_return_address, u))
			return 0;
		if (!recall_frame(u) && !enter_frame(u))
			return 1;
	}
	if (u->todo != TODO_STEP && !look_up_rule(u))
		return 1;
	result = unwind_step(&u->rule, &u->frame, &u->window, &need);
	if (result == STEP_OK)
		return leave_frame(u);
	if (result == STEP_NEEDS_STACK) {
		if (CALL(load_stack, u, need))
			return 0;
		result = END_UNREADABLE;
	}
	if (result == END_UNSUPPORTED && u->rule.kind == RULE_OTHER_STACK)
		return CALL(leave_for_other_stack, u);
	if (result == END_NO_ROW)
		return try_fallback_tables(u) ? 0 : leave_without_rule(u);
	u->end = result;
	return 1;
}

/*
 * After the first unwind_frame() of a 32-bit program: ends the stack at its leaf, because there are
 * no rules for such programs.
 */
static __always_inline void walk_end_at_leaf(struct user_walk *u)
{
	u->wants_table = false;
	if (u->end != END_NO_MAPPING)
		u->end = END_32BIT;
}

/* steps for one frame, if registers need a window each. Only few frames of a stack need so many */
#define MAX_FRAME_STEPS 4
/*
 * Steps for a stack: more than the frames that are kept, so that the root of a deeper stack is
 * reached.
 */
#define WALK_STEPS(max_depth) ((max_depth) < MAX_DEPTH / 2 ? MAX_DEPTH : 2 * (max_depth))

/* Resets the state for a new walk. Call this before the registers are put into u->frame. */
static __always_inline void walk_reset(struct user_walk *u, __u32 max_depth, __u32 max_steps)
{
	u->frame.known = KNOWN_ALL;
	u->frame.stage = 0;
	u->frame.by_call = false;
	u->by_fp = u->guessed = u->wants_table = u->in_syscall = u->has_functions = false;
	u->todo = TODO_ENTER;
	u->max_depth = max_depth;
	u->near_depth = max_depth < DEFAULT_DEPTH ? max_depth : DEFAULT_DEPTH;
	u->max_steps = max_steps;
	u->stack.nr_frames = 0;
	u->nr_mappings = 0;
	u->quiet_until_ns = 0;
	u->hash = 0;
	u->stack.id = 0;
	u->hijacked = 0;
	u->go_sp = 0;
	u->mapping.start = u->mapping.end = 0;
	u->window.len = 0;
	u->window.base = 0;
}

/*
 * Opens the mapping list of this handle. END_COMPLETE: it can be used, since it belongs to this
 * image and has the same count of changes; else why it cannot
 */
static __always_inline int walk_open(struct user_walk *u, __u64 handle,
				     const struct process_image *image, __u32 changes)
{
	struct published_process *process;

	u->process = HANDLE_LOC(handle);
	u->generation = HANDLE_GENERATION(handle);
	u->tgid = image->tgid;
	process = slab_at(u, u->process);
	if (!process)
		return END_UNKNOWN_PROCESS;
	if (*(volatile __u32 *)&process->generation != u->generation ||
	    process->image.tgid != image->tgid || process->image.start_ns != image->start_ns ||
	    process->image.exec_id != image->exec_id ||
	    (process->changes != changes && !process->refused))
		return END_STALE;
	u->quiet_until_ns = process->quiet_until_ns;
	if (process->refused)
		return END_UNKNOWN_PROCESS;
	u->nr_mappings = process->nr_mappings;
	if (u->nr_mappings > MAX_MAPPINGS)
		u->nr_mappings = MAX_MAPPINGS;
	return END_COMPLETE;
}

/*
 * After the last unwind_frame(): has the walk ended in code of no file, at u->last_ip, and may user
 * space read this code to make rules?
 */
static __always_inline bool walk_wants_region(const struct user_walk *u)
{
	return u->module.pending & PENDING_REGION &&
	       (u->end == END_NO_TABLE || u->end == END_NO_ROW);
}

/*
 * After the last unwind_frame(): sets the final end reason, and the stack's ID if the list was not
 * replaced meanwhile.
 */
static __always_inline void walk_close(struct user_walk *u)
{
	struct published_process *process = slab_at(u, u->process);

	if (u->end == END_TOO_DEEP && u->stack.nr_frames < u->max_steps / MAX_FRAME_STEPS)
		u->end = END_NO_PROGRESS;
	if (u->end == END_COMPLETE && u->stack.nr_frames > u->max_depth)
		u->end = END_CUT;
	if (process && *(volatile __u32 *)&process->generation != u->generation) {
		u->end = END_STALE; /* and the frames may be wrong */
		u->stack.nr_frames = 0;
		return;
	}
	u->stack.id = u->hash ? u->hash : 1;
}

/* Records only the leaf, as an address: for a walk without a mapping list. */
static __always_inline void walk_leaf_only(struct user_walk *u)
{
	__u64 frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);

	u->frames[0] = frame;
	u->stack.nr_frames = 1;
	u->hash = hash_word(0, frame);
	u->stack.id = u->hash ? u->hash : 1;
}

#endif
