/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for code that no FDE covers (hand-written assembly, mostly), worked out from its
 * instructions.
 *
 * What is taken for granted is what the psABI (3.2.1) asks of a function that is called: when it
 * returns, the CFA is sp + 8, and every callee-saved register has the caller's value again. From
 * each return the rule is carried backwards through pushes, pops, loads, stores and additions. So a
 * rule says where the caller's registers are if the function is going to return, by every way to a
 * return that is known. Where two ways disagree, or no way is known, there is no rule; but for
 * functions that do not return and begin as functions do, which are followed forwards from their
 * beginning.
 */
#ifndef EHPERF_TABLE_CODE_RULES_H
#define EHPERF_TABLE_CODE_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"

/*
 * From code[at] on, up to the next call's `at`, which is higher, *rule holds, flagged
 * RULE_FROM_CODE: RULE_NONE where none is known.
 */
typedef void code_rule_fn(void *arg, size_t at, const struct eh_rule *rule);

/*
 * Calls emit for each instruction of code[0 .. size), any bytes. vaddr: where code[0] lies, for
 * alignment. A jump out of the code is taken for a tail call. emit is not called at all where no
 * rule can be relied upon: in code with conventions of its own (V8's built-in functions pop their
 * callers' arguments), or where the rules do not settle. 0 or -ENOMEM
 */
int code_rules(const uint8_t *code, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg);

#endif
