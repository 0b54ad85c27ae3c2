/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for HotSpot's template interpreter
 * (hotspot/cpu/x86/templateInterpreterGenerator_x86.cpp in OpenJDK). Its frames are addressed by
 * rbp:
 *
 *	rbp + 8		return address
 *	rbp		the caller's rbp
 *	rbp - 8		the caller's rsp, once it is returned to
 *	rbp - 24	Method *
 *
 * While a method is entered or left there is no such frame. This code is followed from the known
 * state at its beginning.
 */
#ifndef EHPERF_RUNTIMES_INTERPRETER_RULES_H
#define EHPERF_RUNTIMES_INTERPRETER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/code_rules.h"

/* a piece of the interpreter's code */
struct interpreter_piece {
	size_t start, end; /* offsets */
	bool enters;       /* a method is entered at its start: its caller's rsp is in r13 */
	bool enters_again; /* at the beginning of what that does not lead to, too */
	/* what that does not lead to is functions: they find their return address at rsp */
	bool is_called;
};

/* Calls emit as code_rules() does, for this piece of the code. 0 or -ENOMEM */
int interpreter_rules(const uint8_t *code, const struct interpreter_piece *piece,
		      code_rule_fn *emit, void *arg);

/* the rule of a frame that is addressed by rbp */
struct eh_rule interpreter_frame_rule(void);

#endif
