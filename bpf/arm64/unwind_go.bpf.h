/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walk/goroutine.bpf.h needs of src/runtime/asm_arm64.s. */
#ifndef EHPERF_UNWIND_GO_BPF_H
#define EHPERF_UNWIND_GO_BPF_H

#include "walk/state.bpf.h"

#define GO_G          (EH_X19 + 9)
#define GO_SCHED_KEPT 16
#define GO_CGO_G      (-8)
#define GO_CGO_DEPTH  0

/* The function has saved x30 at sp, and x29 below. */
static __always_inline bool go_return(struct user_walk *u, __u64 sp)
{
	if (sp & 15 || read_stack(u, u->pair, 16, sp - 8) < 16 || !u->pair[1])
		return false;
	u->frame.ip = u->pair[1];
	u->frame.reg[EH_X29] = u->pair[0];
	u->frame.known = 1u << EH_X29;
	return true;
}

#endif
