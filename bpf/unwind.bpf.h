/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder in the kernel: from a task's user registers to its frames, by the tables in the slabs
 * (unwind_abi.h). All state lives in a per-CPU map value, which keeps the verifier's work small.
 * Needs vmlinux.h, the bpf headers and task.bpf.h included first.
 */
#ifndef EHPERF_UNWIND_BPF_H
#define EHPERF_UNWIND_BPF_H

#include "unwind_step.bpf.h"

const volatile __u32 max_depth = MAX_DEPTH;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, NR_SLABS);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_MMAPABLE);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, SLAB_VALUE_SIZE);
	});
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);	/* the kernel's tgid */
	__type(value, __u64);	/* HANDLE() */
} procs SEC(".maps");

struct eh_unwind {
	struct frame_state frame;
	struct eh_rule rule;	/* of this frame */
	bool by_call;		/* ip is a return address */
	bool have_rule;		/* rule is this frame's: only stack bytes were missing */
	__s32 end;
	__u32 generation;
	__u32 nr_mappings;
	loc_t process;
	struct eh_mapping mapping;	/* the last one, and its module */
	struct eh_module module;
	__u64 hash;
	struct window window;
	__u32 kind;		/* from here on a struct frames_record */
	__u32 nr_frames;
	__u64 id;
	__u64 frames[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct eh_unwind);
} unwinds SEC(".maps");

/* the slab that loc lies in */
static __always_inline void *slab_of(loc_t loc)
{
	__u32 slab = LOC_SLAB(loc), zero = 0;
	void *map = bpf_map_lookup_elem(&slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

/* where loc points to; SLAB_SLACK bytes may be read there */
static __always_inline void *slab_at(loc_t loc)
{
	void *slab = slab_of(loc);

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
	slab = slab_of(u->process);
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
		module = slab_at(mapping->module);
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
	page = slab_at(u->module.pages + page_nr * sizeof(*page));
	if (!page)
		return;
	at = page->rows;
	nr = page->nr_rows;
	slab = slab_of(at);
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
	rule = slab_at(u->module.rules + (page->rule_base * RULE_BASE_UNIT + ROW_RULE(row)) * sizeof(*rule));
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
	u->window.len = WINDOW_BYTES;
	if (!bpf_probe_read_user(u->window.bytes, WINDOW_BYTES, (void *)base))
		return true;

	/* a page is missing: stay in addr's own */
	len = 4096 - (addr & 4095);
	if (len > WINDOW_BYTES)
		len = WINDOW_BYTES;
	u->window.base = addr;
	u->window.len = len;
	if (len >= 8 && !bpf_probe_read_user(u->window.bytes, len, (void *)addr))
		return true;
	u->window.len = 0;
	return false;
}

/* One frame, or one window of the stack for it. 1 ends the stack, u->end says why. */
static long unwind_frame(__u32 i, struct eh_unwind **ctx)
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
		if (u->nr_frames >= max_depth)
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

/*
 * The user registers of the running task, whether it was interrupted in user mode or in the kernel:
 * every entry from user mode saves them at the top of its stack. END_COMPLETE, or why there are none.
 */
static __always_inline int unwind_start(struct eh_unwind *u, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u16 cs = regs->cs;

	if (!task->mm || (cs & 3) != 3 || !(regs->ip | regs->sp))
		return END_NO_USER;	/* kernel threads, io_uring workers */
	if (cs == 0x23)
		return END_32BIT;
	u->frame.reg[0] = regs->ax;
	u->frame.reg[1] = regs->dx;
	u->frame.reg[2] = regs->cx;
	u->frame.reg[3] = regs->bx;
	u->frame.reg[4] = regs->si;
	u->frame.reg[5] = regs->di;
	u->frame.reg[6] = regs->bp;
	u->frame.reg[7] = regs->sp;
	u->frame.reg[8] = regs->r8;
	u->frame.reg[9] = regs->r9;
	u->frame.reg[10] = regs->r10;
	u->frame.reg[11] = regs->r11;
	u->frame.reg[12] = regs->r12;
	u->frame.reg[13] = regs->r13;
	u->frame.reg[14] = regs->r14;
	u->frame.reg[15] = regs->r15;
	u->frame.ip = regs->ip;
	return END_COMPLETE;
}

/* the mapping list of the running task's image: END_COMPLETE, or why there is none */
static __always_inline int unwind_find_process(struct eh_unwind *u, struct task_struct *task)
{
	struct eh_process *process;
	struct eh_image image;
	__u64 *slot, handle;

	task_image(task, &image);
	slot = bpf_map_lookup_elem(&procs, &image.tgid);
	if (!slot)
		return END_UNKNOWN_PROCESS;
	handle = *(volatile __u64 *)slot;
	u->process = HANDLE_LOC(handle);
	u->generation = HANDLE_GENERATION(handle);
	process = slab_at(u->process);
	if (!process)
		return END_UNKNOWN_PROCESS;
	if (*(volatile __u32 *)&process->generation != u->generation ||
	    process->image.tgid != image.tgid || process->image.start_ns != image.start_ns ||
	    process->image.exec_id != image.exec_id)
		return END_STALE;
	u->nr_mappings = process->nr_mappings;
	if (u->nr_mappings > MAX_MAPPINGS)
		u->nr_mappings = MAX_MAPPINGS;
	return END_COMPLETE;
}

/*
 * Unwinds the user stack of the running task. The frames are in u->frames, leaf first, u->nr_frames of
 * them, named by u->id (0: none); u->end is the enum end_reason.
 */
static __always_inline void unwind_current(struct eh_unwind *u, struct task_struct *task)
{
	struct eh_process *process;

	u->frame.known = KNOWN_ALL;
	u->frame.stage = 0;
	u->by_call = false;
	u->have_rule = false;
	u->nr_frames = 0;
	u->nr_mappings = 0;
	u->hash = 0;
	u->id = 0;
	u->mapping.start = u->mapping.end = 0;
	u->window.len = 0;
	u->window.base = 0;

	u->end = unwind_start(u, task);
	if (u->end != END_COMPLETE)
		return;
	u->end = unwind_find_process(u, task);
	if (u->end != END_COMPLETE) {	/* the leaf at least */
		__u64 frame = FRAME_ADDRESS | FRAME_ADDR(u->frame.ip);

		u->frames[0] = frame;
		u->nr_frames = 1;
		u->hash = frame * 0x9e3779b97f4a7c15;
	} else {
		u->end = END_TOO_DEEP;
		bpf_loop(4 * MAX_DEPTH, unwind_frame, &u, 0);
		if (u->end == END_TOO_DEEP && u->nr_frames < max_depth)
			u->end = END_NO_PROGRESS;	/* a window for each register of each frame: no stack is like that */
		process = slab_at(u->process);
		if (process && *(volatile __u32 *)&process->generation != u->generation)
			u->end = END_STALE;
	}
	u->id = u->hash ? u->hash : 1;
}

#endif
