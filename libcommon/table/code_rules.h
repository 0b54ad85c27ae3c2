/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for code that no FDE covers (mostly hand-written assembly), derived from its
 * instructions.
 *
 * The psABI (3.2.1) requires of a function: when it returns, the CFA is sp + 8 (on arm64 sp), and
 * every callee-saved register has the caller's value again. From each return, this rule is carried
 * backwards through pushes, pops, loads, stores and additions. So a rule holds on all known paths
 * from its place to a return. If two paths disagree, or no path is known, there is no rule. A
 * function that does not return, and begins with a prologue, is followed forwards from its
 * beginning instead.
 */
#ifndef EHPERF_TABLE_CODE_RULES_H
#define EHPERF_TABLE_CODE_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"

/*
 * *rule, with RULE_FROM_CODE, holds from code[at] to the `at` of the next call, which is higher.
 * RULE_NONE: none is known.
 */
typedef void code_rule_fn(void *arg, size_t at, const struct eh_rule *rule);

/*
 * Calls emit for each instruction of code[0 .. size), which may be any bytes. vaddr: of code[0],
 * for alignment. A jump out of the code counts as a tail call. emit is not called at all if no rule
 * is reliable: the code has its own conventions (V8's built-in functions pop their callers'
 * arguments), or the rules do not converge. 0 or -ENOMEM
 */
int code_rules(const uint8_t *code, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg);

/*
 * code_rules() for code that a runtime has written into memory, with other bytes between its
 * functions. Only what leads to a return has a rule: a jump out of the code may go on with any
 * frame. 0, -ENOMEM, or -ENOTSUP with nothing emitted: the code keeps frame pointers
 */
int code_rules_generated(const uint8_t *code, size_t size, uint64_t vaddr, code_rule_fn *emit,
			 void *arg);

#endif
