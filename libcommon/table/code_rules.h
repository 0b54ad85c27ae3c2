/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for x86-64 code that no FDE covers (hand-written assembly, mostly), worked out from its
 * instructions: backwards from each `ret`, where the CFA is rsp + 8 and every callee-saved register has the
 * caller's value, through what pushes, pops, loads, stores and additions make of that. So a rule says what
 * will be true when the function returns, by every way to a return that is known; where two ways disagree, or
 * none is known, there is no rule, but for functions that do not return and begin like one. Taken for granted is what the psABI (3.2.1) asks of functions that are called.
 */
#ifndef EHPERF_TABLE_CODE_RULES_H
#define EHPERF_TABLE_CODE_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"

/* from code[at] on, up to the next call, the rule, flagged RULE_FROM_CODE, holds: RULE_NONE where nothing is known; `at` rises */
typedef void code_rule_fn(void *arg, size_t at, const struct eh_rule *rule);

/*
 * vaddr: where code[0] lies, for alignment. A jump out of code[0 .. size) is taken for a tail call. Any bytes are accepted. `emit` is not called at all for code with
 * conventions of its own: V8's built-in functions pop their callers' arguments. 0 or -ENOMEM
 */
int code_rules(const uint8_t *code, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg);

#endif
