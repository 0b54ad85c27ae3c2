/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's functions that change stacks (RULE_OTHER_STACK in tables_abi.h): none is known on arm64 yet. No rule names one. */
#ifndef EHPERF_UNWIND_GO_BPF_H
#define EHPERF_UNWIND_GO_BPF_H

#include "unwind_state.bpf.h"

VERIFIED_ONCE int leave_for_other_stack(struct eh_unwind *u)
{
	if (u)
		u->end = END_UNSUPPORTED;
	return 1;
}

#endif
