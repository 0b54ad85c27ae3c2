/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walks ask of runtimes. Headers of runtimes/ are included here, and by user space's libcommon/runtimes, only. */
#ifndef EHPERF_RUNTIMES_BPF_H
#define EHPERF_RUNTIMES_BPF_H

#include "runtimes/hotspot.bpf.h"
#include "unwind_state.bpf.h"

/* A frame of an interpreter (RULE_INTERPRETED) was recorded just now: records its function, too. */
static __always_inline void record_function(struct eh_unwind *u)
{
	CALL(record_method, u);
}

#ifdef __bpf__
#include "runtimes/python.bpf.h"

/* Adds the frames that runtimes keep apart from the stack, behind those of the walk of the running task. */
static __always_inline void add_runtime_frames(struct eh_unwind *u)
{
	add_python_frames(u);
}
#endif

#endif
