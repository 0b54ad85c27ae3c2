/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One rule through one instruction, backwards and forwards. A rule at a place says where the
 * caller's registers are, in terms of what the registers hold at that place; so the rule before an
 * instruction is the rule after it with each register replaced by what the instruction computes it
 * from.
 */
#ifndef EHPERF_TABLE_CODE_RULE_H
#define EHPERF_TABLE_CODE_RULE_H

#include <stdbool.h>

#include "table/code_insns.h"

/*
 * at a function's first instruction, and at its return: the CFA by sp, and every callee-saved
 * register unchanged
 */
struct eh_rule code_rule_at_entry(void);
bool code_rule_is_entry(const struct eh_rule *rule);

/*
 * no one rule holds: ways that lead here or on from here disagree, or the CFA cannot be told from
 * any register
 */
static inline struct eh_rule code_rule_conflict(void)
{
	return (struct eh_rule){ .kind = RULE_UNSUPPORTED };
}

static inline bool code_rule_is_known(const struct eh_rule *rule)
{
	return rule->kind != RULE_NONE && rule->kind != RULE_UNSUPPORTED;
}

/* the known rule after the instruction becomes the rule before it, or a conflict */
void code_rule_undo(struct eh_rule *rule, const struct insn *insn);

/*
 * The rule before the instruction becomes the rule after it, for functions that do not return: the
 * CFA stays counted from sp. false: sp is not known after it.
 */
bool code_rule_follow(struct eh_rule *rule, const struct insn *insn);

#endif
