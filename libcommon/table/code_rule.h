/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carries a rule over one instruction, backwards or forwards. A rule says where the caller's
 * registers are, by the values of the registers at its place. So the rule before an instruction is
 * the rule after it, with each register replaced by that from which the instruction computes it.
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
 * no single rule holds: paths to or from here disagree, or the CFA cannot be computed from any
 * register
 */
static inline struct eh_rule code_rule_conflict(void)
{
	return (struct eh_rule){ .kind = RULE_UNSUPPORTED };
}

/*
 * of a RULE_SUM's deref_offset: the summand is this register's value. No rule of a table has that
 */
#define SUM_BY_REG(reg) (INT16_MIN + (int)(reg))
static inline bool code_rule_is_by_reg(const struct eh_rule *rule)
{
	return rule->kind == RULE_SUM && rule->deref_offset < 0;
}

/* the place of the register of saved[i] is not known */
static inline void code_rule_set_odd(struct eh_rule *rule, int i)
{
	rule->saved[i] = SAVED_ODD;
	rule->from_base &= ~(1 << i);
	if (!rule->from_base)
		rule->base_reg = 0;
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
