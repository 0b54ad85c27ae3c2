/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether threads are preempted inside the kernel, which decides what programs on tracepoints may miss. */
#ifndef EHPERF_BPF_PREEMPTION_H
#define EHPERF_BPF_PREEMPTION_H

#include <stdbool.h>

/* As the kernel's version, configuration and command line say it; true where they do not. */
bool bpf_preemption_possible(void);

#endif
