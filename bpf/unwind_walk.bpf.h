/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk from frame to frame: mapping, rule, step. The kernel runs it on the stack of the running
 * task, the host on the bytes of a raw sample or of a stopped process; the includer says how to get at
 * slabs and stack bytes:
 *
 *   static void *slab_of(struct eh_unwind *u, loc_t loc)	the slab that loc lies in, or NULL
 *   static __u32 read_stack(struct eh_unwind *u, void *to, __u32 bytes, __u64 addr)	how many bytes there were
 *   static bool read_hijacked(struct eh_unwind *u, struct hijacked_return *r)	what u->hijacked points to
 */
#ifndef EHPERF_UNWIND_WALK_BPF_H
#define EHPERF_UNWIND_WALK_BPF_H

#ifdef __bpf__
#include "kernel.bpf.h"
#else
#include <stdbool.h>
#endif

#include "processes_abi.h"
#include "stacks_abi.h"
#include "tables_abi.h"
#include "unwind_step.bpf.h"

#define CODE_BYTES 24

/* a return address that a uretprobe, of another tracer's, has put an address of the kernel's in place of */
struct hijacked_return {
	__u64 slot;	/* where it would lie */
	__u64 ip;
	__u64 next;	/* of the next outer one */
};

/* where a rule is looked for, one after the other */
enum {
	PLACE_CFI,
	PLACE_CFI_AFTER,	/* entered as if by a call from before its first byte, as makecontext() has it */
	PLACE_CODE,
};

/* All of a walk's state: in map memory in the kernel, which keeps the verifier's work small. */
struct eh_unwind {
	struct frame_state frame;
	struct eh_rule rule;	/* of this frame */
	bool by_call;		/* ip is a return address */
	bool have_rule;		/* rule is this frame's: only stack bytes were missing */
	bool wants_code;	/* the walk ended for want of module's TABLE_CODE */
	__u32 place;		/* where this frame's rule is looked for: PLACE_... */
	bool by_fp;		/* the frame was found by its callee's frame pointer */
	bool guessed;		/* the frame was found without a rule: it must prove to be code */
	__s32 end;
	__s32 end_if_wrong;	/* guessed and no code: why there was no rule */
	__u32 generation;
	__u32 nr_mappings;
	__u32 max_depth;
	loc_t process;
	__u64 quiet_until_ns;
	struct eh_mapping mapping;	/* the last one, and its module */
	struct eh_module module;
	__u64 hash;
	__u64 pair[2];		/* a saved frame pointer and return address */
	__u64 last_ip;		/* of the callee */
	__u64 hijacked;		/* 0, or what names the innermost hijacked return address that was not passed yet */
	__u8 code[CODE_BYTES];
	struct window window;
	__u32 kind;		/* from here on a struct frames_record */
	__u32 nr_frames;
	__u64 id;
	__u64 frames[MAX_DEPTH];
};

static __always_inline void *slab_of(struct eh_unwind *u, loc_t loc);
static __always_inline __u32 read_stack(struct eh_unwind *u, void *to, __u32 bytes, __u64 addr);
static __always_inline bool read_hijacked(struct eh_unwind *u, struct hijacked_return *r);

/* where loc points to; SLAB_SLACK bytes may be read there */
static __always_inline void *slab_at(struct eh_unwind *u, loc_t loc)
{
	void *slab = slab_of(u, loc);

	return slab ? slab + LOC_OFFSET(loc) : NULL;
}

/*
 * Both searches below halve a range [at, at + nr) whose first element is known not to lie after the
 * target. Either way out of a comparison leaves the same nr and an `at` the verifier knows nothing of,
 * so that it follows one path and not two to the power of the steps.
 */

/* the last of nr mappings that does not begin after pc, or the first one */
static __always_inline struct eh_mapping *search_mappings(void *slab, loc_t process, __u32 nr, __u64 pc)
{
	__u32 at = process + sizeof(struct eh_process), half, i;
	struct eh_mapping *mapping;

	for (i = 0; i < MAX_MAPPINGS_SHIFT && nr > 1; i++) {
		half = nr / 2;
		mapping = slab + LOC_OFFSET(at + half * sizeof(*mapping));
		if (mapping->start <= pc)
			at += half * sizeof(*mapping);
		nr -= half;
	}
	return slab + LOC_OFFSET(at);
}

/* The mapping that holds pc, into u->mapping and u->module. */
static __always_inline bool find_mapping(struct eh_unwind *u, __u64 pc)
{
	struct eh_mapping *mapping;
	struct eh_module *module;
	void *slab;

	if (pc >= u->mapping.start && pc < u->mapping.end)
		return true;
	slab = slab_of(u, u->process);
	if (!slab || !u->nr_mappings)
		return false;
	mapping = search_mappings(slab, u->process, u->nr_mappings, pc);
	if (pc < mapping->start || pc >= mapping->end)
		return false;
	u->mapping = *mapping;
	u->module = (struct eh_module){};
	if (mapping->module) {
		module = slab_at(u, mapping->module);
		if (module)
			u->module = *module;
	}
	return true;
}

/* The rule for this offset in the file of u->module, into u->rule; RULE_NONE where the table has none. */
static __always_inline void find_rule(struct eh_unwind *u, __u32 table_nr, __u64 file_offset)
{
	const struct eh_table *table = &u->module.tables[table_nr & (NR_TABLES - 1)];
	__u64 page_nr = (file_offset >> PAGE_ROWS_SHIFT) - table->first_page;
	__u32 pc = file_offset & (MAX_PAGE_ROWS - 1), at, nr, half, i, row;
	struct eh_page *page;
	struct eh_rule *rule;
	void *slab;

	u->rule = (struct eh_rule){};
	if (page_nr >= table->nr_pages)
		return;
	page = slab_at(u, table->pages + page_nr * sizeof(*page));
	if (!page)
		return;
	at = page->rows;
	nr = page->nr_rows;
	slab = slab_of(u, at);
	if (!slab)
		return;
	for (i = 0; i < PAGE_ROWS_SHIFT && nr > 1; i++) {
		half = nr / 2;
		row = *(__u32 *)(slab + LOC_OFFSET(at + half * ROW_BYTES));
		if (ROW_PC(row) <= pc)
			at += half * ROW_BYTES;
		nr -= half;
	}
	row = *(__u32 *)(slab + LOC_OFFSET(at));
	rule = slab_at(u, table->rules + (page->rule_base * RULE_BASE_UNIT + ROW_RULE(row)) * sizeof(*rule));
	if (rule)
		u->rule = *rule;
}

/* Puts the stack bytes from addr on into the window: as many as can be had, 8 at least. */
static __always_inline bool load_window(struct eh_unwind *u, __u64 addr)
{
	__u64 base = addr - (NR_SAVED - 1) * 8;	/* the other registers are saved about there */
	__u32 len;

	if (base < u->frame.reg[EH_RSP] || base > addr)
		base = addr;
	u->window.base = base;
	u->window.len = read_stack(u, u->window.bytes, WINDOW_BYTES, base);
	if (u->window.len >= addr - base + 8)
		return true;

	/* a page is missing: stay in addr's own */
	len = 4096 - (addr & 4095);
	if (len > WINDOW_BYTES)
		len = WINDOW_BYTES;
	u->window.base = addr;
	u->window.len = read_stack(u, u->window.bytes, len, addr);
	return u->window.len >= 8;
}

/* ---- frames without a rule ---- */

/* Does a call instruction end at ret? (E8 rel32, or FF /2 with its operands; Intel SDM vol. 2A, CALL) */
static __always_inline bool follows_call(struct eh_unwind *u, __u64 ret)
{
	const __u8 *c = u->code;

	if (read_stack(u, u->code, 8, ret - 8) < 8)
		return false;
	return c[3] == 0xe8 ||
	       (c[6] == 0xff && (c[7] & 0x38) == 0x10) || (c[5] == 0xff && (c[6] & 0x38) == 0x10) ||
	       (c[4] == 0xff && (c[5] & 0x38) == 0x10) || (c[2] == 0xff && (c[3] & 0x38) == 0x10) ||
	       (c[1] == 0xff && (c[2] & 0x38) == 0x10);
}

/* the call that ends at ret, whose bytes follows_call() has read, goes to just before pc: clone()'s, say */
static __always_inline bool calls_here(const struct eh_unwind *u, __u64 ret, __u64 pc)
{
	__u64 to = ret + *(const __s32 *)(u->code + 4);

	return u->code[3] == 0xe8 && to <= pc && pc - to < 256;
}

static __always_inline bool leave_to(struct eh_unwind *u, __u64 ret, __u64 rsp)
{
	u->frame.ip = ret;
	u->frame.reg[EH_RSP] = rsp;
	return true;
}

#define RET 0xc3

/* A frame without a rule, in JIT code say, that is about to return; or a leaf that is called by a call to right here. */
static __always_inline bool leave_at_once(struct eh_unwind *u)
{
	__u64 rsp = u->frame.reg[EH_RSP], pc = u->frame.ip;
	bool returns = read_stack(u, u->code, 1, pc) == 1 && u->code[0] == RET;

	if ((!returns && (u->nr_frames > 1 || u->rule.flags & RULE_FROM_CODE)) || read_stack(u, u->pair, 8, rsp) < 8 || !follows_call(u, u->pair[0]) ||
	    !(returns || calls_here(u, u->pair[0], pc)))
		return false;
	return leave_to(u, u->pair[0], rsp + 8);
}

/*
 * What a thread calls first returns to code that ends the thread: exit(its result) in musl, exit(111) in Go. And Go's mcall(),
 * with which a thread's own stack begins while it looks for work: whoever called it may run elsewhere by now.
 */
static __always_inline bool is_thread_start(struct eh_unwind *u)
{
	const __u8 *c = u->code + 8;

	if (!u->by_call || read_stack(u, u->code, 20, u->frame.ip - 8) < 20)
		return false;
	return *(__u64 *)c == 0x050f3cb0c031c789 ||	/* mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall */
	       (c[0] == 0xbf && c[5] == 0xb8 && c[6] == 60 && c[10] == 0x0f && c[11] == 0x05) ||	/* mov, mov $60,%eax; syscall */
	       *(__u64 *)(c - 6) == 0xe958d4ff41228b4c;	/* mov (%rdx),%r12; call *%r12; pop %rax; jmp runtime.badmcall2 */
}

/* Go's goexit, where every goroutine begins as if called from its second byte: nop; call; nop. rbp is 0 there. */
static __always_inline bool is_goexit(struct eh_unwind *u, __u64 ret)
{
	return read_stack(u, u->code, 8, ret - 1) == 8 && u->code[0] == 0x90 && u->code[1] == 0xe8 && u->code[6] == 0x90;
}

/*
 * glibc's __start_context, the outermost frame of makecontext()'s stacks, whose CFI does not say so:
 * mov %rbx,%rsp; mov (%rsp),%rdi; test ...
 */
static __always_inline bool is_start_context(struct eh_unwind *u, __u64 ip)
{
	return read_stack(u, u->code, 8, ip) == 8 && *(__u64 *)u->code == 0x48243c8b48dc8948;
}

/* a thread about to begin: clone() and clone3() have returned 0 to it, there where they have no CFI, and nothing lies above */
static __always_inline bool is_new_thread(struct eh_unwind *u)
{
	return u->nr_frames == 1 && !u->frame.reg[0] && read_stack(u, u->code, 2, u->last_ip - 2) == 2 &&
	       *(__u16 *)u->code == 0x050f;	/* syscall */
}

#define MAX_FRAME_BYTES (8 << 20)

/* what is known after a step along frame pointers */
#define KNOWN_BY_FP (1u << EH_RSP | 1u << EH_RBP)

/*
 * By the frame pointer, as JIT compilers and Go keep it: it must lead up the stack, and behind a call. Once on a chain
 * of them it may lead to another stack, as in Go's systemstack().
 */
static __always_inline bool leave_by_fp(struct eh_unwind *u)
{
	__u64 rsp = u->frame.reg[EH_RSP], rbp = u->frame.reg[EH_RBP];

	if (!(u->frame.known >> EH_RBP & 1) || rbp & 7 ||
	    ((rbp < rsp || rbp - rsp > MAX_FRAME_BYTES) && u->frame.known != KNOWN_BY_FP) ||
	    read_stack(u, u->pair, 16, rbp) < 16)
		return false;
	if (!follows_call(u, u->pair[1]) && (u->pair[0] || !is_goexit(u, u->pair[1])))
		return false;
	u->frame.reg[EH_RBP] = u->pair[0];
	u->frame.known = KNOWN_BY_FP;
	u->by_fp = true;
	return leave_to(u, u->pair[1], rbp + 16);
}

/* musl's and others' restorer has no CFI: mov $15,%rax; syscall. The kernel's struct ucontext lies at rsp. */
static __always_inline bool is_sigreturn(struct eh_unwind *u)
{
	return read_stack(u, u->code, 9, u->frame.ip) == 9 && *(__u64 *)u->code == 0x0f0000000fc0c748 && u->code[8] == 0x05;
}

/* struct sigcontext's registers lie 5 words from rsp on: r8 ... r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
static __always_inline void set_sigreturn_rule(struct eh_rule *rule)
{
	*rule = (struct eh_rule){};
	rule->kind = RULE_DEREF;
	rule->flags = RULE_SIGNAL;
	rule->cfa_reg = rule->base_reg = EH_RSP;
	rule->deref_offset = (5 + 15) * 8;
	rule->from_base = 0x7f;
	rule->saved[SAVED_RBX] = 5 + 11;
	rule->saved[SAVED_RBP] = 5 + 10;
	rule->saved[SAVED_R12] = 5 + 4;
	rule->saved[SAVED_R13] = 5 + 5;
	rule->saved[SAVED_R14] = 5 + 6;
	rule->saved[SAVED_R15] = 5 + 7;
	rule->saved[SAVED_RA] = 5 + 16;
}

/* The caller of a frame that no rule is known for, u->end says why. 1 ends the stack. */
static __always_inline long leave_without_rule(struct eh_unwind *u)
{
	u->place = PLACE_CFI;
	if (u->end_if_wrong == END_NO_ROW && is_sigreturn(u)) {
		set_sigreturn_rule(&u->rule);
		u->have_rule = true;
		return 0;
	}
	/* the psABI's mark of the outermost frame (3.4.1), where frame pointers led */
	if (u->frame.known == KNOWN_BY_FP && !u->frame.reg[EH_RBP]) {
		u->end = END_COMPLETE;
		return 1;
	}
	if (is_thread_start(u)) {
		u->end = END_COMPLETE;
		return 1;
	}
	if (!leave_at_once(u) && (u->rule.flags & RULE_FROM_CODE || !leave_by_fp(u))) {
		u->end = is_new_thread(u) ? END_COMPLETE : u->end_if_wrong;
		return 1;
	}
	u->guessed = true;
	u->have_rule = false;
	u->by_call = true;
	return 0;
}

/* ---- the walk ---- */

/* The true return address where it was hijacked. False: call again, one that lies below this frame's was passed. */
static __always_inline bool mend_return(struct eh_unwind *u)
{
	__u64 slot = u->frame.reg[EH_RSP] - 8;
	struct hijacked_return r = {};

	if (read_hijacked(u, &r) && r.slot > slot)
		return true;
	if (r.slot == slot)
		u->frame.ip = r.ip;
	u->hijacked = r.next;
	return r.slot == slot;
}

/* There is no rule where it was looked for. Is there another place? */
static __always_inline bool look_elsewhere(struct eh_unwind *u)
{
	if (u->place == PLACE_CFI && u->by_call) {
		u->place = PLACE_CFI_AFTER;
		return true;
	}
	if (u->place == PLACE_CODE || (!u->module.code_pending && !u->module.tables[TABLE_CODE].nr_pages))
		return false;
	u->place = PLACE_CODE;
	return true;
}

/* One frame, or one window of the stack for it. 1 ends the stack, u->end says why. */
static __always_inline int unwind_frame(struct eh_unwind *u)
{
	__u64 need = 0, frame, pc;
	int result;

	if (u->hijacked && u->by_call && !u->have_rule && u->place == PLACE_CFI && !mend_return(u))
		return 0;
	pc = u->frame.ip - u->by_call;
	if (!u->have_rule && u->place == PLACE_CFI) {
		bool mapped = find_mapping(u, pc);

		if (!mapped && u->nr_frames) {	/* not a frame of anybody's */
			u->end = u->guessed ? u->end_if_wrong : is_start_context(u, u->last_ip) ? END_COMPLETE : END_NO_MAPPING;
			return 1;
		}
		u->last_ip = u->frame.ip;
		if (u->nr_frames >= u->max_depth)
			return 1;
		frame = u->frame.ip - u->mapping.start + u->mapping.file_offset;
		if (mapped && u->mapping.module_id && frame < 1ULL << FRAME_OFFSET_BITS)
			frame |= (__u64)u->mapping.module_id << FRAME_OFFSET_BITS;
		else
			frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);
		frame |= u->by_call * FRAME_CALL | u->by_fp * FRAME_BY_FP;
		u->by_fp = u->guessed = false;
		u->frames[u->nr_frames++ & (MAX_DEPTH - 1)] = frame;
		u->hash = (u->hash ^ frame) * 0x9e3779b97f4a7c15;
		u->hash ^= u->hash >> 32;
		if (!mapped) {
			u->end = END_NO_MAPPING;
			return 1;
		}
		u->end_if_wrong = u->mapping.module ? END_NO_ROW : END_NO_TABLE;
	}
	if (u->place == PLACE_CODE && u->module.code_pending) {
		u->wants_code = true;
		u->end = END_NO_ROW;
		return 1;
	}
	if (!u->have_rule)
		find_rule(u, u->place == PLACE_CODE, pc + (u->place == PLACE_CFI_AFTER) - u->mapping.start + u->mapping.file_offset);
	result = unwind_step(&u->rule, &u->frame, &u->window, &need);
	if (result == STEP_NEEDS_STACK) {
		u->have_rule = true;
		if (load_window(u, need))
			return 0;
		/* after leave, GCC's CFI still counts from rbp: that register may be lost, the frame is not */
		if (u->frame.stage > 0 && u->frame.stage <= SAVED_RA) {
			__u32 i = MASKED(u->frame.stage - 1, 7);

			u->rule.saved[i] = SAVED_LOST;
			u->rule.from_base &= ~(1 << i);
			return 0;
		}
		result = END_UNREADABLE;
	}
	if (result == END_NO_ROW) {
		frame = pc - u->mapping.start + u->mapping.file_offset;
		if (frame < u->module.entry_start || frame >= u->module.entry_end)
			return look_elsewhere(u) ? 0 : leave_without_rule(u);
		result = END_COMPLETE;
	}
	if (result >= 0) {
		u->end = result;
		return 1;
	}
	u->have_rule = false;
	u->place = PLACE_CFI;
	u->by_call = !(u->rule.flags & RULE_SIGNAL);
	if (u->rule.flags & RULE_FROM_CODE && !u->hijacked && !follows_call(u, u->frame.ip)) {
		u->end = is_new_thread(u) ? END_COMPLETE : END_NO_ROW;
		return 1;
	}
	return 0;
}

#define MAX_WALK_STEPS (4 * MAX_DEPTH)	/* a window for each register of each frame: no stack is like that */

/* before the registers are put into u->frame */
static __always_inline void walk_reset(struct eh_unwind *u, __u32 max_depth)
{
	u->frame.known = KNOWN_ALL;
	u->frame.stage = 0;
	u->by_call = false;
	u->have_rule = false;
	u->by_fp = u->guessed = u->wants_code = false;
	u->place = PLACE_CFI;
	u->max_depth = max_depth;
	u->nr_frames = 0;
	u->nr_mappings = 0;
	u->hash = 0;
	u->id = 0;
	u->hijacked = 0;
	u->mapping.start = u->mapping.end = 0;
	u->window.len = 0;
	u->window.base = 0;
}

/* Takes up the mapping list that handle names: END_COMPLETE if it is this image's, after as many changes. */
static __always_inline int walk_open(struct eh_unwind *u, __u64 handle, const struct eh_image *image, __u32 changes)
{
	struct eh_process *process;

	u->process = HANDLE_LOC(handle);
	u->generation = HANDLE_GENERATION(handle);
	process = slab_at(u, u->process);
	if (!process)
		return END_UNKNOWN_PROCESS;
	if (*(volatile __u32 *)&process->generation != u->generation ||
	    process->image.tgid != image->tgid || process->image.start_ns != image->start_ns ||
	    process->image.exec_id != image->exec_id || process->changes != changes)
		return END_STALE;
	u->quiet_until_ns = process->quiet_until_ns;
	u->nr_mappings = process->nr_mappings;
	if (u->nr_mappings > MAX_MAPPINGS)
		u->nr_mappings = MAX_MAPPINGS;
	return END_COMPLETE;
}

/* after the last unwind_frame() */
static __always_inline void walk_close(struct eh_unwind *u)
{
	struct eh_process *process = slab_at(u, u->process);

	if (u->end == END_TOO_DEEP && u->nr_frames < u->max_depth)
		u->end = END_NO_PROGRESS;
	if (process && *(volatile __u32 *)&process->generation != u->generation) {
		u->end = END_STALE;	/* and the frames may be anybody's */
		u->nr_frames = 0;
		return;
	}
	u->id = u->hash ? u->hash : 1;
}

/* instead of a walk: the leaf at least, as an address */
static __always_inline void walk_leaf_only(struct eh_unwind *u)
{
	__u64 frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);

	u->frames[0] = frame;
	u->nr_frames = 1;
	u->hash = frame * 0x9e3779b97f4a7c15;
	u->id = u->hash ? u->hash : 1;
}

#endif
