/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tools that measure off-CPU periods and their programs agree on. */
#ifndef EHPERF_OFF_CPU_ABI_H
#define EHPERF_OFF_CPU_ABI_H

/* the walk by ORC tables is trusted after this many kernel stacks that equalled bpf_get_stack()'s */
#define KERNEL_WALK_TRUSTED 64

#endif
