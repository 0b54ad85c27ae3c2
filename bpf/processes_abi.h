/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and what code they have mapped:
 *
 *   procs hash:   tgid -> handle (loc of the process's mapping list in the slabs, generation)
 *   changes hash: tgid -> how often the process gave up memory that held code
 *   struct eh_process, then struct eh_mapping[nr_mappings], sorted by address
 *   mapping.module -> struct eh_module (tables_abi.h)
 */
#ifndef EHPERF_PROCESSES_ABI_H
#define EHPERF_PROCESSES_ABI_H

#include "slabs_abi.h"

struct eh_mapping {
	__u64 start, end;	/* addresses */
	__u64 file_offset;	/* of start */
	loc_t module;		/* 0: executable, but nobody's file (JIT code) or a file without a table */
	__u32 module_id;	/* 0: nobody's file; frames keep the address */
};
_Static_assert(sizeof(struct eh_mapping) == 32, "mapping");
#define MAX_MAPPINGS_SHIFT 16
#define MAX_MAPPINGS	(1 << MAX_MAPPINGS_SHIFT)

/* an image: changes with fork (start time) and with exec (exec id) */
struct eh_image {
	__u32 tgid;		/* in the kernel's initial PID namespace */
	__u32 exec_id;		/* task_struct.self_exec_id of the leader */
	__u64 start_ns;		/* start_boottime of the leader */
};

/*
 * Written: generation = 0, the rest, generation. Read: generation, the rest, generation again; the
 * three values (two of these and the handle's) must agree, or what was read is nobody's.
 */
struct eh_process {
	struct eh_image image;
	__u32 generation;	/* never 0 while valid */
	__u32 nr_mappings;
	__u32 changes;		/* how many of the process's changes it knows of: with any more, it is stale */
	__u32 pad;
	__u64 quiet_until_ns;	/* till then, no raw samples of pcs outside the list: it is known to be all there is */
	struct eh_mapping mappings[];
};
_Static_assert(sizeof(struct eh_process) == 40, "process");

#define HANDLE(loc, generation)	((__u64)(generation) << 32 | (loc))
#define HANDLE_LOC(handle)	((loc_t)(handle))
#define HANDLE_GENERATION(handle) ((__u32)((handle) >> 32))

/* what the task iterator writes for each thread */
struct task_record {
	struct eh_image image;	/* of its process */
	__u32 pid, tid;		/* user space's words, in the reader's PID namespace */
	__u32 kernel_thread;
	__u32 pad;
	__u64 last_ran_ns;	/* by the scheduler's clock: for telling the recently used */
};
_Static_assert(sizeof(struct task_record) == 40, "task_record");

#endif
