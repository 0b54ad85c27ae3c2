/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's unwinder on this side: the same step, rules and searches over a stack that somebody else
 * reads, for samples that came without frames and for tests.
 */
#ifndef EHPERF_HOST_UNWIND_H
#define EHPERF_HOST_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/unwind_abi.h"
#include "../bpf/unwind_step.bpf.h"
#include "proc_maps.h"

struct host_process;

/* The mappings of a process and the tables of their files, as they are now. 0 or -errno */
int host_process_read(struct host_process **process, pid_t pid);
void host_process_free(struct host_process *process);

struct host_stack {
	enum end_reason end;
	size_t nr;
	uint64_t pcs[MAX_DEPTH];	/* addresses, leaf first; the others are return addresses */
};

/*
 * Unwinds from these registers (known, reg[] and ip set). read_stack copies up to size bytes at addr and
 * returns how many there are, 0 if none.
 */
void host_unwind(const struct host_process *process, const struct frame_state *registers,
		 size_t (*read_stack)(void *arg, uint64_t addr, void *bytes, size_t size), void *arg,
		 struct host_stack *stack);

#endif
