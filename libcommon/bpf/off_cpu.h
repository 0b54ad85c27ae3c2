/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stays off the CPU that nobody sees begin, or end: for a loaded object of offcputime.bpf.c. */
#ifndef EHPERF_BPF_OFF_CPU_H
#define EHPERF_BPF_OFF_CPU_H

#include <stdbool.h>

#include "bpf/stack_store.h"

struct bpf_object;

/* Before loading: where the kernel's own unwind tables are, for bpf/kernel_walk.bpf.h; nothing, where that is not told. 0 or -errno */
int off_cpu_configure(struct bpf_object *object);

/*
 * With the programs attached: from now on every thread that is to be measured is. Those off the CPU begin
 * their stay now, with the stacks they have, but for a command that was not let go yet. 0 or -errno
 */
int off_cpu_begin(struct bpf_object *object, struct stack_store *store, bool command);

/* Ends the measurement: those off the CPU have been up to now, marked STACK_OPEN. 0 or -errno */
int off_cpu_end(struct bpf_object *object, struct stack_store *store);

#endif
