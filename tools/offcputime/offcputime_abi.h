/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What offcputime and its BPF programs agree on. */
#ifndef EHPERF_OFFCPUTIME_ABI_H
#define EHPERF_OFFCPUTIME_ABI_H

#define MAX_CPUS 4096

/* so many kernel stacks in a row were bpf_get_stack()'s: from then on it is not asked */
#define KERNEL_WALK_TRUSTED 64

#endif
