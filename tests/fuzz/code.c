// SPDX-License-Identifier: GPL-2.0-or-later
/* Machine code that no FDE covers. */
#include "table/code_rules.h"
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
	must(rule->kind == RULE_REG || rule->kind == RULE_DEREF, "rules are of two kinds");
	must(rule->saved[SAVED_RA] == -1 && !rule->from_base, "the return address lies below the CFA");
	for (int i = 0; i < SAVED_RA; i++)
		must(rule->saved[i] < 0 || rule->saved[i] == SAVED_SAME, "registers are saved below the CFA");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t next = 0;

	code_rules(bytes, size, 0x1000, emit, &next);
	return 0;
}
