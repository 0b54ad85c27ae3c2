/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU periods that begin before the programs are attached, or are still open when measuring ends: for
 * objects that include bpf/off_cpu_periods.bpf.h.
 */
#ifndef EHPERF_BPF_OFF_CPU_H
#define EHPERF_BPF_OFF_CPU_H

#include <stdbool.h>

#include "bpf/stack_store.h"
#include "off_cpu_abi.h"

struct bpf_object;

/*
 * Before loading: tells bpf/kernel_walk.bpf.h where the kernel's ORC tables are. Does nothing if
 * /proc/kallsyms hides that. 0 or -errno
 */
int off_cpu_configure(struct bpf_object *object);

/* of a loaded object: what its walks have learned, one for each enum kernel_start_of; or NULL */
const struct kernel_start *off_cpu_starts(struct bpf_object *object);

/*
 * After attaching the programs: measures all wanted threads from now on. For each that is off the CPU, a
 * period begins now, with its current stacks. command: a command is measured, which is not released yet:
 * there is no such period. 0 or -errno
 */
int off_cpu_begin(struct bpf_object *object, struct stack_store *store, bool command);

/* Ends the measurement: open periods end now, marked STACK_OPEN. 0 or -errno */
int off_cpu_end(struct bpf_object *object, struct stack_store *store);

#endif
