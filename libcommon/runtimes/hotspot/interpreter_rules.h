/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for HotSpot's template interpreter
 * (hotspot/cpu/x86/templateInterpreterGenerator_x86.cpp in OpenJDK, or aarch64). Its frames are
 * addressed by the frame pointer, rbp or x29:
 *
 *	fp + 8		return address
 *	fp		the caller's fp
 *	fp - 8		the caller's sp, once it is returned to
 *	fp - 24		Method *
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
	bool enters;       /* a method is entered at its start: its caller's sp is in sender_sp */
	bool enters_again; /* at the beginning of what that does not lead to, too */
	/* what that does not lead to is functions: they are called as usual */
	bool is_called;
	uint8_t sender_sp; /* a register */
};

/* Calls emit as code_rules() does, for this piece of the code. 0 or -ENOMEM */
int interpreter_rules(const uint8_t *code, const struct interpreter_piece *piece,
		      code_rule_fn *emit, void *arg);

/* the rule of a frame that is addressed by the frame pointer */
struct eh_rule interpreter_frame_rule(void);

#endif
