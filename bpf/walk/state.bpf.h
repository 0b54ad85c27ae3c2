/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a walk, and the functions that it needs from its environment. The kernel walks the
 * stack of the running task; the host walks a raw sample or a stopped process. The includer defines
 * how to read slabs and memory.
 */
#ifndef EHPERF_WALK_STATE_BPF_H
#define EHPERF_WALK_STATE_BPF_H

#ifdef __bpf__
#include "kernel.bpf.h"
#else
#include <stdbool.h>
#include <stddef.h>
#endif

#include "frame_place.h"
#include "processes_abi.h"
#include "records_abi.h"
#include "stacks_abi.h"
#include "tables_abi.h"
#include "walk/step.bpf.h"

/* a return address that another tracer's uretprobe has replaced by an address of the kernel's */
struct hijacked_return {
	__u64 slot; /* where it would lie */
	__u64 ip;
	__u64 next; /* of the next outer one */
};

/*
 * the next action for the current frame. For a search of its rule, the lower bits say in which of
 * enum TABLE_*, and whether at the byte beside the pc
 */
enum todo {
	TODO_ENTER,      /* record it, and find its mapping */
	TODO_STEP,       /* the rule is there: only stack bytes were missing */
	TODO_CFI = 4,    /* look for its rule in TABLE_CFI, */
	TODO_CFI_BESIDE, /* there, see try_fallback_tables() */
	TODO_CODE,       /* in TABLE_CODE */
	TODO_CODE_BESIDE,
};
#define TODO_IS_BESIDE(todo) (1 & (todo))
#define TODO_TABLE(todo)     ((todo) >> 1 & 1)
_Static_assert(TODO_TABLE(TODO_CFI_BESIDE) == TABLE_CFI && TODO_TABLE(TODO_CODE) == TABLE_CODE,
	       "enum todo");

#define CODE_BYTES 8

/*
 * What was found for a pc by the mapping list of this generation. No other list has the same
 * generation, and while a list is valid, so are the tables of its files.
 */
struct frame_memo {
	__u64 pc;    /* with MEMO_BY_CALL */
	__u64 frame; /* without FRAME_BY_FP */
	struct eh_rule rule;
	__u32 generation; /* 0: nothing yet */
	__u32 pad;
};
#define MEMO_BY_CALL (1ULL << 63) /* no user address has this bit */
/* so many that struct user_walk fits into a per-CPU map value, which may have 32 KiB */
#define MEMOS_SHIFT      (sizeof(struct eh_rule) > 16 ? 8 : 9)
#define MAX_PERCPU_BYTES 32768

/*
 * A global function: the verifier checks it once, by itself. It must check u for NULL. Call it by
 * CALL(): newer verifiers treat a call as a use of all five argument registers, and would follow
 * paths separately that differ only in values left there.
 */
#ifdef __bpf__
#define VERIFIED_ONCE __noinline
/* clang-format off */
#define CALL(function, args...) ({ \
	asm volatile("r1 = 0\nr2 = 0\nr3 = 0\nr4 = 0\nr5 = 0" ::: "r1", "r2", "r3", "r4", "r5"); \
	function(args); \
})
/* clang-format on */
#else
#define VERIFIED_ONCE           static
#define CALL(function, args...) function(args)
#endif

/* In map memory in the kernel, which keeps the verifier's work small. */
struct user_walk {
	struct frame_state frame;
	struct eh_rule rule; /* of this frame */
	__u32 todo;          /* enum todo */
	/*
	 * the leaf is in a system call: its pc is after the instruction, perhaps after its
	 * function's end
	 */
	bool in_syscall;
	/* the program is, and there are no rules for it: of its stack, there is the leaf */
	bool is_32bit;
	/* the walk ended for want of one of module's tables, which is not made yet */
	bool wants_table;
	bool by_fp; /* the frame was found by its callee's frame pointer */
	/* a runtime's functions are among the frames, to be named by its memory */
	bool has_functions;
	bool of_other; /* the task is not the running one, whose runtimes' frames would be found */
	bool guessed;  /* the frame was found without a rule: it must prove to be code */
	__u32 tgid;
	__s32 end;
	__s32 end_if_wrong; /* the end reason if the guessed caller is not code */
	__u32 generation;
	__u32 nr_mappings;
	__u32 max_depth;  /* most frames that are kept */
	__u32 near_depth; /* how many of these are in frames[] */
	__u32 max_steps;  /* most calls of unwind_frame() */
	loc_t process;
	struct process_image image; /* in the kernel: the running task's */
	__u64 quiet_until_ns;
	struct published_mapping mapping; /* the last one, and its module */
	struct published_module module;
	__u64 hash;
	__u64 pair[2];         /* a saved frame pointer and return address */
	__u64 last_ip;         /* of the callee */
	__u64 recorded;        /* the last frame, as it was kept */
	__u64 page;            /* the struct table_page of the last rule */
	struct rule_note note; /* with RULE_NOTED: the rule's */
	/* 0, or what names the innermost hijacked return address that was not passed yet */
	__u64 hijacked;
	__u64 trampoline; /* the address of the kernel's that lies there instead */
	/* walk/goroutine.bpf.h: 0, or g0's sched.sp before the cgocallback() that was passed last */
	__u64 go_sp;
	/* what was read last; nobody counts on what another function has left here */
	__u8 code[CODE_BYTES];
	struct frame_memo memos[1 << MEMOS_SHIFT]; /* kept from walk to walk */
	struct window window;
	/* goes out as one struct frames_record */
	struct frames_header stack;
	__u64 frames[DEFAULT_DEPTH];
};
_Static_assert(sizeof(struct user_walk) <= MAX_PERCPU_BYTES, "struct user_walk");
_Static_assert(__builtin_offsetof(struct user_walk, frames) ==
		       __builtin_offsetof(struct user_walk, stack) + sizeof(struct frames_record),
	       "struct frames_record in struct user_walk");

/* The caller's frame goes on at this return address. */
static __always_inline bool leave_to(struct user_walk *u, __u64 ret, __u64 sp)
{
	u->frame.ip = ret;
	u->frame.reg[REG_SP] = sp;
	return true;
}

/* the slab that loc lies in, or NULL */
static __always_inline void *slab_of(struct user_walk *u, loc_t loc);
/*
 * Copy this many bytes of the process's data, mostly of a stack, or of its code, which does not
 * change. Return the number of bytes that could be read
 */
static __always_inline __u32 read_stack(struct user_walk *u, void *to, __u32 bytes, __u64 addr);
static __always_inline __u32 read_text(struct user_walk *u, void *to, __u32 bytes, __u64 addr);
/* is there this word in the process's memory? */
static __always_inline bool is_word(struct user_walk *u, __u64 addr, __u32 word);
/*
 * MAX_DEPTH places for frames: those behind the first DEFAULT_DEPTH are used. NULL: u->max_depth
 * needs none
 */
static __always_inline __u64 *deep_frames(struct user_walk *u);
#ifndef __bpf__
/* struct host_memory's */
static __always_inline __u32 functions_epoch(const struct user_walk *u);
#endif
/* what u->hijacked points to */
static __always_inline bool read_hijacked(struct user_walk *u, struct hijacked_return *r);

#endif
