/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the filters of task.bpf.h hold. */
#ifndef EHPERF_TASK_ABI_H
#define EHPERF_TASK_ABI_H

/* the size of a list of CPUs: more than any kernel's NR_CPUS */
#define MAX_LISTED_CPUS 65536

#endif
