// SPDX-License-Identifier: GPL-2.0-or-later
/* Machine code that no FDE covers, in a file and in memory. arm64-code is this, too. */
#include "table/code_rules.h"
#include "table/machine.h"
#include "fuzz.h"
#include "tables_abi.h"

static void emit(void *arg, size_t at, const struct eh_rule *rule)
{
	size_t *next = arg;

	must(at >= *next, "places rise");
	*next = at + 1;
	must(rule->flags == RULE_FROM_CODE, "rules say where they are from");
	if (rule->kind == RULE_NONE)
		return;
	must(rule->kind == RULE_REG || rule->kind == RULE_DEREF || rule->kind == RULE_SUM,
	     "rules are of three kinds");
	must(RA_AT_ENTRY == SAVED_SAME ||
		     (rule->saved[SAVED_RA] == RA_AT_ENTRY && !(rule->from_base >> SAVED_RA)),
	     "the return address lies where the call has put it");
	must(rule->kind != RULE_SUM || rule->deref_offset >= 0, "a frame whose size lies in it");
	must(rule->kind != RULE_REG || !rule->from_base || rule->base_reg == rule->cfa_reg,
	     "places in a large frame count from the CFA's register");
	for (int i = 0; i < SAVED_RA; i++) {
		bool by_base = rule->from_base >> i & 1;

		must(by_base || rule->saved[i] < 0 || rule->saved[i] == SAVED_SAME,
		     "registers are saved below the CFA");
		must(!by_base || (rule->saved[i] >= 0 && rule->saved[i] < SAVED_SAME),
		     "and not below their base");
		must(!by_base || rule->kind != RULE_REG || rule->cfa_offset % 8 ||
			     rule->cfa_offset / 8 - rule->saved[i] >= -SAVED_ODD,
		     "which is far from the CFA");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t next = 0;

	code_rules(bytes, size, 0x1000, emit, &next);
	next = 0;
	code_rules_generated(bytes, size, 0x1000, emit, &next);
	return 0;
}
