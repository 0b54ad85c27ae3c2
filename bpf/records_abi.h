/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of the ring buffer: stacks, values, raw samples for user space to unwind, and process events.
 */
#ifndef EHPERF_RECORDS_ABI_H
#define EHPERF_RECORDS_ABI_H

#include "processes_abi.h"
#include "stacks_abi.h"

/* the first word of every record */
enum record_kind {
	RECORD_USER_STACK,
	RECORD_KERNEL_STACK,
	RECORD_VALUE,
	RECORD_RAW,
	RECORD_UNMAPPED,
	RECORD_EXITED,
	RECORD_KEY
};

struct frames_header {
	__u32 kind;
	__u32 nr_frames;	/* of the walk. A user stack's record has frames for fewer, where that was deeper */
	__u64 id;
	__u32 pid;		/* of a process that has this stack, as user space counts them; 0: not said */
	__u32 pad;
};

struct frames_record {
	struct frames_header stack;
	/* kernel frames are addresses, leaf first; user frames as in stacks_abi.h, in their places (frame_place.h) */
	__u64 frames[];
};
_Static_assert(sizeof(struct frames_record) == 24, "struct frames_record");

/* a value for which the map `values` had no room, or whose stack is pending */
struct value_record {
	__u32 kind;
	__u32 pad;
	struct stack_key key;
	struct stack_value value;
};
_Static_assert(sizeof(struct value_record) == 88, "struct value_record");

/* A key that others name by its ID, a hash of it: sent once, after its stacks. */
struct key_record {
	__u32 kind;
	__u32 pad;
	__u64 id;
	struct stack_key key;
};
_Static_assert(sizeof(struct key_record) == 72, "struct key_record");

/* a process unmapped or replaced memory that held code, or exited */
struct process_record {
	__u32 kind;
	__u32 pid;		/* as in struct task_record */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	__u64 start, end;	/* RECORD_UNMAPPED: the addresses, [start, end) */
	__u32 changes;		/* RECORD_UNMAPPED: the process's count in `changes`, this one included */
	__u32 pad;
};
_Static_assert(sizeof(struct process_record) == 40, "struct process_record");

/*
 * A raw sample: one that the kernel could not unwind, because the process is not published, its list is stale, a pc
 * lies outside the list, or a table is not made yet. It has the registers and the stack that user space needs for
 * the same walk: stack_bytes bytes of stack follow the record.
 */
#define RAW_STACK_BYTES (64 << 10)
struct raw_record {
	__u32 kind;
	__u32 stack_bytes;	/* from stack_addr on */
	__u64 stack_addr;	/* rsp less the red zone */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	struct stack_key key;	/* user space fills in .user_stack and .end */
	/* unused with STACK_PENDING in key.flags: then the value comes later, */
	struct stack_value value;
	__u64 token;			/* with this token in key.user_stack */
	struct eh_image image;
	__u64 ip, reg[16];	/* by DWARF numbers */
	__s32 syscall;		/* the number of the system call that it was taken in, or -1 */
	/* bit i: the i-th page from stack_addr on could not be read; its bytes are meaningless */
	__u32 missing;
};
_Static_assert(sizeof(struct raw_record) == 272, "struct raw_record");

#endif
