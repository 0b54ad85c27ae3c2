/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel preempts threads in kernel mode: then programs on tracepoints may miss events. */
#ifndef EHPERF_BPF_PREEMPTION_H
#define EHPERF_BPF_PREEMPTION_H

#include <stdbool.h>

/* By the kernel's version string, debugfs, command line and configuration; true if those do not say. */
bool bpf_preemption_possible(void);

#endif
