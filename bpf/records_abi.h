/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of the ring buffer: frames, values, samples that user space unwinds, and what processes do. */
#ifndef EHPERF_RECORDS_ABI_H
#define EHPERF_RECORDS_ABI_H

#include "processes_abi.h"
#include "stacks_abi.h"

enum record_kind { RECORD_USER_STACK, RECORD_KERNEL_STACK, RECORD_VALUE, RECORD_RAW, RECORD_UNMAPPED, RECORD_EXITED };

struct frames_record {
	__u32 kind;
	__u32 nr_frames;
	__u64 id;
	__u64 frames[];		/* leaf first; user frames as above, kernel frames are addresses */
};

/* a value that found no room in the map of values, or whose stack is pending */
struct value_record {
	__u32 kind;
	__u32 pad;
	struct stack_key key;
	struct stack_value value;
};

/* a process gave up part of its address space that held code, or is gone */
struct process_record {
	__u32 kind;
	__u32 pid;		/* as task_record's */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	__u64 start, end;	/* RECORD_UNMAPPED: the addresses given up */
	__u32 changes;		/* with this one; for struct eh_process */
	__u32 pad;
};

/*
 * A sample that could not be unwound in the kernel because the process's mappings were not published
 * or have changed: what user space needs to run the same walk.
 */
#define RAW_STACK_BYTES (64 << 10)
struct raw_record {
	__u32 kind;
	__u32 stack_bytes;	/* from stack_addr on */
	__u64 stack_addr;	/* about rsp */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	struct stack_key key;	/* .user_stack and .end are for user space to fill in */
	struct stack_value value;	/* if key.flags has STACK_PENDING, it comes apart, under this: */
	__u64 token;
	struct eh_image image;
	__u64 ip, reg[16];	/* by DWARF numbers */
	__u32 in_exec;		/* interrupted in execve(), where registers may be the old image's */
	__u32 missing;		/* bit i: the i-th page from stack_addr's on was not there, and its bytes mean nothing */
	/* stack_bytes bytes follow */
};

#endif
