/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk from frame to frame: mapping, rule, step. The kernel runs it on the stack of the running
 * task, the host on the bytes of a raw sample or of a stopped process; the includer says how to get at
 * slabs and stack bytes:
 *
 *   static void *slab_of(struct eh_unwind *u, loc_t loc)	the slab that loc lies in, or NULL
 *   static __u32 read_stack(struct eh_unwind *u, void *to, __u32 bytes, __u64 addr)	how many bytes there were
 */
#ifndef EHPERF_UNWIND_WALK_BPF_H
#define EHPERF_UNWIND_WALK_BPF_H

#include "unwind_step.bpf.h"
#ifndef __bpf__
#include <stdbool.h>
#endif

/* All of a walk's state: in map memory in the kernel, which keeps the verifier's work small. */
struct eh_unwind {
	struct frame_state frame;
	struct eh_rule rule;	/* of this frame */
	bool by_call;		/* ip is a return address */
	bool have_rule;		/* rule is this frame's: only stack bytes were missing */
	__s32 end;
	__u32 generation;
	__u32 nr_mappings;
	__u32 max_depth;
	loc_t process;
	__u64 quiet_until_ns;
	struct eh_mapping mapping;	/* the last one, and its module */
	struct eh_module module;
	__u64 hash;
	struct window window;
	__u32 kind;		/* from here on a struct frames_record */
	__u32 nr_frames;
	__u64 id;
	__u64 frames[MAX_DEPTH];
};

static __always_inline void *slab_of(struct eh_unwind *u, loc_t loc);
static __always_inline __u32 read_stack(struct eh_unwind *u, void *to, __u32 bytes, __u64 addr);

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

/* The mapping that holds pc, into u->mapping and u->module. */
static __always_inline bool find_mapping(struct eh_unwind *u, __u64 pc)
{
	__u32 at = u->process + sizeof(struct eh_process), nr = u->nr_mappings, half, i;
	struct eh_mapping *mapping;
	struct eh_module *module;
	void *slab;

	if (pc >= u->mapping.start && pc < u->mapping.end)
		return true;
	slab = slab_of(u, u->process);
	if (!slab || !nr)
		return false;
	for (i = 0; i < MAX_MAPPINGS_SHIFT && nr > 1; i++) {
		half = nr / 2;
		mapping = slab + LOC_OFFSET(at + half * sizeof(*mapping));
		if (mapping->start <= pc)
			at += half * sizeof(*mapping);
		nr -= half;
	}
	mapping = slab + LOC_OFFSET(at);
	if (pc < mapping->start || pc >= mapping->end)
		return false;
	u->mapping = *mapping;
	u->module.nr_pages = 0;
	u->module.entry_end = 0;
	if (mapping->module) {
		module = slab_at(u, mapping->module);
		if (module)
			u->module = *module;
	}
	return true;
}

/* The rule for this offset in the file of u->module, into u->rule; RULE_NONE where no FDE covers it. */
static __always_inline void find_rule(struct eh_unwind *u, __u64 file_offset)
{
	__u64 page_nr = (file_offset >> PAGE_ROWS_SHIFT) - u->module.first_page;
	__u32 pc = file_offset & (MAX_PAGE_ROWS - 1), at, nr, half, i, row;
	struct eh_page *page;
	struct eh_rule *rule;
	void *slab;

	u->rule = (struct eh_rule){};
	if (page_nr >= u->module.nr_pages)
		return;
	page = slab_at(u, u->module.pages + page_nr * sizeof(*page));
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
	rule = slab_at(u, u->module.rules + (page->rule_base * RULE_BASE_UNIT + ROW_RULE(row)) * sizeof(*rule));
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

/* One frame, or one window of the stack for it. 1 ends the stack, u->end says why. */
static long unwind_frame(__u32 i __attribute__((unused)), struct eh_unwind **ctx)
{
	struct eh_unwind *u = *ctx;
	__u64 need = 0, frame, pc = u->frame.ip - u->by_call;
	int result;

	if (!u->have_rule) {
		bool mapped = find_mapping(u, pc);

		if (!mapped && u->nr_frames) {	/* not a frame of anybody's */
			u->end = END_NO_MAPPING;
			return 1;
		}
		if (u->nr_frames >= u->max_depth)
			return 1;
		frame = u->frame.ip - u->mapping.start + u->mapping.file_offset;
		if (mapped && u->mapping.module_id && frame < 1ULL << FRAME_OFFSET_BITS)
			frame |= (__u64)u->mapping.module_id << FRAME_OFFSET_BITS;
		else
			frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);
		if (u->by_call)
			frame |= FRAME_CALL;
		u->frames[u->nr_frames++ & (MAX_DEPTH - 1)] = frame;
		u->hash = (u->hash ^ frame) * 0x9e3779b97f4a7c15;
		u->hash ^= u->hash >> 32;
		if (!mapped || !u->mapping.module) {
			u->end = mapped ? END_NO_TABLE : END_NO_MAPPING;
			return 1;
		}
		find_rule(u, pc - u->mapping.start + u->mapping.file_offset);
	}
	result = unwind_step(&u->rule, &u->frame, &u->window, &need);
	if (result == STEP_NEEDS_STACK) {
		u->have_rule = true;
		if (load_window(u, need))
			return 0;
		result = END_UNREADABLE;
	}
	if (result >= 0) {
		frame = u->frame.ip - u->mapping.start + u->mapping.file_offset;
		if (result == END_NO_ROW && frame >= u->module.entry_start && frame < u->module.entry_end)
			result = END_COMPLETE;
		u->end = result;
		return 1;
	}
	u->have_rule = false;
	u->by_call = !(u->rule.flags & RULE_SIGNAL);
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
	u->max_depth = max_depth;
	u->nr_frames = 0;
	u->nr_mappings = 0;
	u->hash = 0;
	u->id = 0;
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
	if (process && *(volatile __u32 *)&process->generation != u->generation)
		u->end = END_STALE;
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
