/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU periods that begin before the programs are attached, or are still open when measuring
 * ends: for objects that include bpf/off_cpu_periods.bpf.h.
 */
#ifndef EHPERF_KERNEL_OFF_CPU_H
#define EHPERF_KERNEL_OFF_CPU_H

#include <stdbool.h>

#include "kernel/stack_store.h"
#include "kernel/unwinder.h"
#include "off_cpu_abi.h"
#include "unwind/foreign.h"

struct bpf_object;

/*
 * Before attaching: tells bpf/kernel_walk.bpf.h where the kernel's ORC tables are, unless the
 * kernel hides that. 0 or -errno
 */
int off_cpu_find_kernel(struct bpf_object *object);

/* of a loaded object: what its walks have learned, one for each enum kernel_start_of; or NULL */
const struct kernel_start *off_cpu_starts(struct bpf_object *object);

/*
 * threads that were off the CPU when measuring began: their registers, and where their stacks are
 */
struct off_cpu_begun {
	struct raw_record *threads;
	size_t nr;
};

/*
 * After attaching the programs: measures all wanted threads from now on. For each thread that is
 * off the CPU, a period begins now. Call off_cpu_take_stacks() next. command: a command is
 * measured, which is not released yet, so there is no such period. 0 or -errno
 */
int off_cpu_begin(struct bpf_object *object, bool command, struct off_cpu_begun *begun);
/*
 * Takes the current stacks of these periods, and frees *begun. It takes at most half a second. A
 * stack has only its leaf if the process's memory does not answer, if the process's stacks are very
 * large, or if the time is over. 0 or -errno
 */
int off_cpu_take_stacks(struct off_cpu_begun *begun, struct bpf_object *object,
			struct stack_store *store, struct foreign *foreign,
			struct unwinder *unwinder);

/*
 * At an interval's end, a clock_ns(): takes the parts of open periods until then that were not
 * taken before, marked STACK_OPEN, with a count of 0. 0 or -errno
 */
int off_cpu_take_open(struct bpf_object *object, struct stack_store *store, uint64_t until_ns);

/* Ends the measurement: open periods end now, marked STACK_OPEN. 0 or -errno */
int off_cpu_end(struct bpf_object *object, struct stack_store *store);

#endif
