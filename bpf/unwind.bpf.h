/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder in the kernel: from a task's user registers to its frames, by the tables in the
 * slabs (tables_abi.h, processes_abi.h). All state lives in a per-CPU map value, which keeps the
 * verifier's work small.
 */
#ifndef EHPERF_UNWIND_BPF_H
#define EHPERF_UNWIND_BPF_H

#include "kernel.bpf.h"
#include "processes_abi.h"
#include "stacks_abi.h"
#include "task.bpf.h"
#include "walk/walk.bpf.h"
#include "user_registers.bpf.h"

const volatile __u32 max_depth = DEFAULT_DEPTH;
const volatile bool with_runtimes; /* frames of interpreters, too */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, NR_SLABS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, SLAB_VALUE_SIZE);
		});
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);   /* the kernel's tgid */
	__type(value, __u64); /* HANDLE() */
} procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32); /* the kernel's tgid */
	__type(value, __u32);
} changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct user_walk);
} unwinds SEC(".maps");

/* goes out as a struct frames_record */
struct deep_stack {
	struct frames_header stack;
	__u64 frames[MAX_DEPTH];
};
_Static_assert(__builtin_offsetof(struct deep_stack, frames) == sizeof(struct frames_record),
	       "struct deep_stack");

/*
 * One for each possible CPU, by its number, since a per-CPU map's values cannot be as large.
 * Resized if max_depth needs it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct deep_stack);
} deep_stacks SEC(".maps");

static __always_inline struct deep_stack *own_deep_stack(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return max_depth > DEFAULT_DEPTH ? bpf_map_lookup_elem(&deep_stacks, &cpu) : NULL;
}

static __always_inline __u64 *deep_frames(struct user_walk *u)
{
	struct deep_stack *deep = own_deep_stack();

	return deep ? deep->frames : NULL;
}

static __always_inline void *slab_of(struct user_walk *u, loc_t loc)
{
	__u32 slab = LOC_SLAB(loc), zero = 0;
	void *map = bpf_map_lookup_elem(&slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline __u32 read_stack(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	return bpf_probe_read_user(to, bytes, (void *)addr) ? 0 : bytes;
}

static __always_inline __u32 read_text(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	return read_stack(u, to, bytes, addr);
}

static __always_inline bool is_word(struct user_walk *u, __u64 addr, __u32 word)
{
	return !bpf_probe_read_user(u->code, sizeof(word), (void *)addr) &&
	       *(__u32 *)u->code == word;
}

static __always_inline bool read_hijacked(struct user_walk *u, struct hijacked_return *r)
{
	struct return_instance *instance = (struct return_instance *)u->hijacked;

	return !bpf_core_read(&r->slot, sizeof(r->slot), &instance->stack) &&
	       !bpf_core_read(&r->ip, sizeof(r->ip), &instance->orig_ret_vaddr) &&
	       !bpf_core_read(&r->next, sizeof(r->next), &instance->next);
}

#define XOL_BYTES 4096

/*
 * A thread executes copies of probed instructions in slots of the page "[uprobes]", and functions
 * return to a trampoline in the first slot (kernel/events/uprobes.c, xol_area). If the leaf is in
 * this page, it is moved to where it would be without probes. On entry, u->hijacked is the
 * task's utask and u->trampoline its mm, because the verifier accepts no kernel pointers as
 * arguments. On return, both are as in struct user_walk.
 */
VERIFIED_ONCE int leave_uprobes(struct user_walk *u)
{
	struct xol_area *area = NULL;
	struct uprobe_task *task;
	struct hijacked_return r;
	struct mm_struct *mm;
	__u64 probed, copy, base = 0;

	if (!u)
		return 0;
	task = (struct uprobe_task *)u->hijacked;
	mm = (struct mm_struct *)u->trampoline;
	u->hijacked = 0;
	if (bpf_core_read(&area, sizeof(area), &mm->uprobes_state.xol_area) || !area ||
	    bpf_core_read(&base, sizeof(base), &area->vaddr))
		return 0;
	u->trampoline = base;
	bpf_core_read(&u->hijacked, sizeof(u->hijacked), &task->return_instances);
	if (u->frame.ip - base >= XOL_BYTES)
		return 0;
	if (u->frame.ip - base >= XOL_SLOT_BYTES) {
		if (!bpf_core_read(&probed, sizeof(probed), &task->vaddr) &&
		    !bpf_core_read(&copy, sizeof(copy), &task->xol_vaddr) &&
		    u->frame.ip - copy <= MAX_INSN_BYTES)
			u->frame.ip += probed - copy;
	} else if (u->hijacked && read_hijacked(u, &r)) {
		u->frame.ip = r.ip;
		u->frame.by_call = true;
		u->frame.reg[REG_SP] = r.slot + CFA_AT_ENTRY;
		u->in_syscall = false;
		u->hijacked = r.next;
	}
	return 0;
}

#define PF_EXITING 0x00000004

/*
 * Is the task about to leave its address space? A child of vfork() lets its parent continue when it
 * has begun a new image, or is exiting. For a moment it still has the parent's memory, whose stack
 * the parent is changing again.
 */
static __always_inline bool is_leaving_memory(struct task_struct *task, struct mm_struct *mm,
					      __s32 syscall)
{
	if (!IS_EXEC(syscall) && !(task->flags & PF_EXITING))
		return false;
	return !untrusted(task)->vfork_done && SIGNED_FIELD(mm, mm_users.counter) > 1 &&
	       SIGNED_FIELD(untrusted(task)->signal, nr_threads) == 1;
}

/* Does the task have user registers and a user address space? */
static __always_inline bool has_user_stack(struct task_struct *task)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct mm_struct *mm = untrusted(task)->mm;

	if (!mm || !are_of_user(regs))
		return false;
	/* in exec: the registers are the old image's, the memory the new one's */
	return mm->start_stack && !is_leaving_memory(task, mm, syscall_of(regs));
}

/*
 * The user registers of a task, whether it was interrupted in user mode or in the kernel: every
 * entry from user mode saves them at the top of its stack.
 */
static __always_inline void take_registers(struct user_walk *u, struct task_struct *task,
					   const struct pt_regs *regs)
{
	__s32 syscall = syscall_of(regs);

	u->is_32bit = are_of_32bit(regs);
	copy_registers(&u->frame, regs);
	/*
	 * a program that has just been executed is at its entry point, and not behind a system call
	 */
	u->in_syscall = syscall >= 0 && !IS_EXEC(syscall);
	if (bpf_core_field_exists(task->utask) && untrusted(task)->utask) {
		u->hijacked = (__u64)untrusted(task)->utask;
		u->trampoline = (__u64)untrusted(task)->mm;
		CALL(leave_uprobes, u);
	}
}

/*
 * unwind_frame() as a global function, which the verifier checks once, by itself. As a part of the
 * loop's callback, it would be checked at each turn. From 6.19 on, two paths are merged there only
 * if the verifier knows exactly the same about each register, so that it would follow all
 * combinations of branches within a frame: a million instructions.
 */
__noinline int unwind_one(struct user_walk *u)
{
	return u ? unwind_frame(u) : 1;
}

#define STEPS_A_TURN 8 /* a turn of bpf_loop() costs a call, too */

static long unwind_next(__u32 i, struct user_walk **ctx)
{
	UNROLL
	for (i = 0; i < STEPS_A_TURN; i++)
		if (unwind_one(*ctx))
			return 1;
	return 0;
}

/* Walks from u->frame on, by the mapping list of u->image. */
VERIFIED_ONCE int walk_stack(struct user_walk *u)
{
	__u32 tgid, *changed;
	__u64 *slot;

	if (!u)
		return 0;
	tgid = u->image.tgid;
	slot = bpf_map_lookup_elem(&procs, &tgid);
	changed = bpf_map_lookup_elem(&changes, &tgid);
	u->end = END_UNKNOWN_PROCESS;
	if (slot)
		u->end = walk_open(u, *(volatile __u64 *)slot, &u->image, changed ? *changed : 0);
	if (u->end != END_COMPLETE) {
		walk_leaf_only(u);
		return 0;
	}
	u->end = END_TOO_DEEP;
	if (u->is_32bit) {
		CALL(unwind_one, u);
		walk_end_at_leaf(u);
	} else {
		bpf_loop(u->max_steps / STEPS_A_TURN, unwind_next, &u, 0);
	}
	walk_close(u);
	if (with_runtimes && u->stack.nr_frames && !u->of_other)
		add_runtime_frames(u);
	return 0;
}

/*
 * Unwinds the user stack of the running task, or of a new thread, in at most max_steps steps. Then
 * u->frames or own_deep_stack() has u->stack.nr_frames frames, placed by frame_place.h. u->stack.id
 * is the stack's ID (0: none), u->end an enum end_reason.
 */
static __always_inline void unwind_current(struct user_walk *u, struct task_struct *task,
					   __u32 max_steps)
{
	walk_reset(u, max_depth, max_steps);
	u->of_other = task != bpf_get_current_task_btf();
	u->end = END_NO_USER;
	if (!has_user_stack(task))
		return;
	take_registers(u, task, (struct pt_regs *)bpf_task_pt_regs(task));
	task_image(task, &u->image);
	CALL(walk_stack, u);
}

#endif
