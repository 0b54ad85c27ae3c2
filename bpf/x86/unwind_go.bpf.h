/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walk/goroutine.bpf.h needs of src/runtime/asm_amd64.s. */
#ifndef EHPERF_UNWIND_GO_BPF_H
#define EHPERF_UNWIND_GO_BPF_H

#include "walk/state.bpf.h"

#define GO_G          (EH_R12 + 2)
#define GO_SCHED_KEPT 0
#define GO_CGO_G      0
#define GO_CGO_DEPTH  (-8)

static __always_inline bool go_return(struct user_walk *u, __u64 sp)
{
	__u64 at = sp + u->rule.deref_offset - CFA_AT_ENTRY;

	if (sp & 7 || read_stack(u, u->pair, 8, at) < 8 || !u->pair[0])
		return false;
	u->frame.ip = u->pair[0];
	u->frame.known = 0;
	return true;
}

#endif
