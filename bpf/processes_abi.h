/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and the code they have mapped:
 *
 *   procs hash:   tgid -> HANDLE(loc of the process's mapping list in the slabs, its generation)
 *   changes hash: tgid -> how often the process has unmapped or replaced memory that held code;
 *     none: never
 *   struct published_process, then struct published_mapping[nr_mappings], sorted by address
 *   mapping.module -> struct published_module (tables_abi.h)
 */
#ifndef EHPERF_PROCESSES_ABI_H
#define EHPERF_PROCESSES_ABI_H

#include "runtimes_abi.h"
#include "slabs_abi.h"

/* one executable mapping */
struct published_mapping {
	__u64 start, end;  /* addresses, [start, end) */
	__u64 file_offset; /* of start */
	/* struct published_module; 0: no tables, as for anonymous memory (JIT code) */
	loc_t module;
	__u32 module_id; /* 0: anonymous memory, whose frames are addresses */
};
_Static_assert(sizeof(struct published_mapping) == 32, "struct published_mapping");
#define MAX_MAPPINGS_SHIFT 16
#define MAX_MAPPINGS       (1 << MAX_MAPPINGS_SHIFT)

/*
 * Identifies the program image that a process runs: a new process has another start time, exec
 * changes the exec ID.
 */
struct process_image {
	__u32 tgid;     /* in the kernel's initial PID namespace */
	__u32 exec_id;  /* task_struct.self_exec_id of the leader */
	__u64 start_ns; /* task_struct.start_boottime of the leader */
};
_Static_assert(sizeof(struct process_image) == 16, "struct process_image");

/*
 * The header of a process's mapping list.
 *
 * Slab memory is reused while walks may still read it. So a list has a generation, as in a seqlock:
 * the writer sets it to 0, writes the rest, then sets a new generation, which the handle has, too.
 * A reader compares the list's generation with the handle's before it uses the list and again after
 * the walk: if it differs either time, the list was replaced meanwhile, and what was read from it
 * is discarded.
 */
struct published_process {
	struct process_image image;
	__u32 generation; /* never 0 while the list is valid */
	__u32 nr_mappings;
	/* the process's count in `changes` that the list includes; another count: it is stale */
	__u32 changes;
	__u32 refused; /* 1: the process goes without unwinding */
	/*
	 * CLOCK_MONOTONIC; until then no raw samples are sent for pcs outside the list, which was
	 * just confirmed, nor any of a refused process
	 */
	__u64 quiet_until_ns;
	struct published_runtimes runtimes;
	struct published_mapping mappings[];
};
_Static_assert(sizeof(struct published_process) == 40 + sizeof(struct published_runtimes),
	       "struct published_process");

#define HANDLE(loc, generation)   ((__u64)(generation) << 32 | (loc))
#define HANDLE_LOC(handle)        ((loc_t)(handle))
#define HANDLE_GENERATION(handle) ((__u32)((handle) >> 32))

/* the task iterator's output for each thread */
struct task_record {
	struct process_image image; /* of its process */
	__u32 pid, tid;             /* as user space counts them, in the reader's PID namespace */
	__u32 kernel_thread;
	__u32 uid; /* as in struct stack_key */
	/* by the scheduler's clock: when it was last seen running, to sort threads by */
	__u64 last_ran_ns;
};
_Static_assert(sizeof(struct task_record) == 40, "struct task_record");

#endif
