// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/host_unwind.h"

#include <stddef.h>
#include <string.h>

#include "walk/walk.bpf.h"
#include "processes_abi.h"
#include "unwind/cut_stack.h"
#include "stacks_abi.h"

struct host_walk {
	struct user_walk unwind;
	const struct slabs *slabs;
	struct host_memory memory;
	__u64 deep[MAX_DEPTH];
};

static struct host_walk *walk_of(struct user_walk *u)
{
	return (struct host_walk *)((char *)u - offsetof(struct host_walk, unwind));
}

static __always_inline void *slab_of(struct user_walk *u, loc_t loc)
{
	return slabs_at(walk_of(u)->slabs, LOC_SLAB(loc) << SLAB_SHIFT);
}

static __always_inline __u32 read_stack(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	return walk_of(u)->memory.read(walk_of(u)->memory.arg, to, bytes, addr);
}

static __always_inline __u32 read_text(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	return walk_of(u)->memory.read_text(walk_of(u)->memory.arg, to, bytes, addr);
}

/*
 * Is the code still that which a rule was made for? That of a JVM was compared when the raw sample
 * was kept (hotspot.h). What cannot be read any more counts as unchanged, unless a change was seen
 * before.
 */
static __always_inline bool is_word(struct user_walk *u, __u64 addr, __u32 word)
{
	__u32 now;

	if (u->note.tag)
		return true;
	if (u->module.pending & REGION_CHANGES)
		return false;
	return read_text(u, &now, sizeof(now), addr) != sizeof(now) || now == word;
}

static __always_inline __u32 functions_epoch(const struct user_walk *u)
{
	return walk_of((struct user_walk *)u)->memory.functions_epoch;
}

static __always_inline __u64 *deep_frames(struct user_walk *u)
{
	return walk_of(u)->deep;
}

static __always_inline bool read_hijacked(struct user_walk *u, struct hijacked_return *r)
{
	(void)u, (void)r;
	return false;
}

void host_unwind_seed(uint64_t seed)
{
	hash_seed = seed;
}

static void walk_all(struct user_walk *u, struct host_stack *stack)
{
	for (uint32_t i = 0; i < u->max_steps && !unwind_frame(u); i++)
		if (u->stack.nr_frames == 1 && u->todo == TODO_ENTER)
			stack->cfa = u->frame.reg[REG_SP];
}

void host_unwind(const struct slabs *slabs, loc_t process, const struct host_registers *registers,
		 struct host_memory memory, uint32_t max_depth, struct host_stack *stack)
{
	const struct published_process *list = process ? slabs_at(slabs, process) : NULL;
	static _Thread_local struct host_walk walk;
	struct user_walk *u = &walk.unwind;

	walk.slabs = slabs;
	walk.memory = memory;
	walk_reset(u, max_depth, WALK_STEPS(max_depth));
	/* lists that were released have this generation in common */
	if (list && !list->generation)
		memset(u->memos, 0, sizeof(u->memos));
	memcpy(u->frame.reg, registers->reg, sizeof(u->frame.reg));
	u->frame.ip = registers->ip;
	u->in_syscall = registers->in_syscall;
	if (list && walk_open(u, HANDLE(process, list->generation), &list->image, list->changes) ==
			    END_COMPLETE) {
		u->end = END_TOO_DEEP;
		if (registers->is_32bit) {
			unwind_frame(u);
			walk_end_at_leaf(u);
		} else {
			walk_all(u, stack);
		}
		walk_close(u);
	} else {
		u->end = END_UNKNOWN_PROCESS;
		walk_leaf_only(u);
	}
	stack->id = u->stack.id;
	stack->end = u->end;
	stack->wants_table = u->wants_table ? u->module.id : 0;
	stack->wants_rows = u->wants_table && !u->module.id ? u->frame.ip - u->frame.by_call : 0;
	stack->wants_region =
		u->end != END_UNKNOWN_PROCESS && walk_wants_region(u) ? u->last_ip : 0;
	memcpy(walk.deep, u->frames, sizeof(u->frames));
	stack->nr = cut_stack_order(stack->frames, (const uint64_t *)walk.deep, u->stack.nr_frames,
				    max_depth);
}
