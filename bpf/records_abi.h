/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of the ring buffer: stacks, values, raw samples for user space to unwind, and process
 * events.
 */
#ifndef EHPERF_RECORDS_ABI_H
#define EHPERF_RECORDS_ABI_H

#include "machine_abi.h"
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
	/* of the walk. A user stack's record has frames for fewer, where that was deeper */
	__u32 nr_frames;
	__u64 id;
	__u32 pid; /* of a process that has this stack, as user space counts them; 0: not said */
	__u32 uid; /* of whom it was sent for first, as in struct stack_key */
};

struct frames_record {
	struct frames_header stack;
	/*
	 * kernel frames are addresses, leaf first; user frames as in stacks_abi.h, in their places
	 * (frame_place.h)
	 */
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
_Static_assert(sizeof(struct value_record) == 96, "struct value_record");

/* A key that others name by its ID, a hash of it, or by its number: sent once, after its stacks. */
struct key_record {
	__u32 kind;
	__u32 number; /* from 1 on; one key may have more than one. 0: there were too many */
	__u64 id;
	struct stack_key key;
};
_Static_assert(sizeof(struct key_record) == 80, "struct key_record");

/* a process unmapped or replaced memory that held code, or exited */
struct process_record {
	__u32 kind;
	__u32 pid;        /* as in struct task_record */
	__u64 time_ns;    /* CLOCK_MONOTONIC */
	__u64 start, end; /* RECORD_UNMAPPED: the addresses, [start, end) */
	__u32 changes;    /* RECORD_UNMAPPED: the process's count in `changes`, this one included */
	__u32 pad;
};
_Static_assert(sizeof(struct process_record) == 40, "struct process_record");

/*
 * A raw sample, which the kernel could not unwind, because the process is not published, its list
 * is stale, a pc lies outside the list, or a table is not made yet. It has the registers and the
 * stack that user space needs for the walk: stack_bytes bytes of stack follow the record. Both ends
 * of a larger stack are copied, because single frames may be very large (540 KB in OpenBLAS'
 * dgetrf_parallel and in rustc's run_compiler), with little behind them (in rustc, 46 KB with the
 * thread-local storage).
 */
#define RAW_NEAR_BYTES (64 << 10)
#define RAW_FAR_BYTES  (64 << 10)
#define RAW_NEAR_PAGES (RAW_NEAR_BYTES / 4096 + 1) /* stack_addr lies within the first one */
#define RAW_FAR_PAGES  (RAW_FAR_BYTES / 4096)
struct raw_record {
	__u32 kind;
	__u32 stack_bytes; /* from stack_addr on; */
	__u64 stack_addr;  /* sp less the red zone */
	/* those behind the first far_at bytes, unless it is 0, are from far_addr on, a page's */
	__u64 far_addr;
	__u64 time_ns;        /* CLOCK_MONOTONIC */
	struct stack_key key; /* user space fills in .user_stack and .end */
	/* unused with STACK_PENDING in key.flags: then the value comes later, */
	struct stack_value value;
	__u64 token; /* with this token in key.user_stack */
	struct process_image image;
	__u64 ip, reg[EH_NR_REGS]; /* by DWARF numbers */
	__s32 syscall;             /* the number of the system call that it was taken in, or -1 */
	__u32 far_at;
	/*
	 * bit i: the i-th page could not be read, and its bytes are meaningless; far ones count
	 * from RAW_NEAR_PAGES on
	 */
	__u64 missing;
	__u32 is_32bit; /* the program is */
	__u32 pad;
};
_Static_assert(sizeof(struct raw_record) == 176 + 8 * EH_NR_REGS, "struct raw_record");
_Static_assert(RAW_NEAR_PAGES + RAW_FAR_PAGES <= 64, "bits of missing");

#endif
