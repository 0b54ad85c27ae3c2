// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_rules.h"

#include <stdlib.h>

#include "table/code_insns.h"
#include "table/code_rule.h"
#include "table/code_solve.h"
#include "table/machine.h"

/*
 * Where functions pop their callers' arguments, what a call leaves of sp is not known. A few such
 * returns are data.
 */
static bool pops_arguments(const struct code *c)
{
	return c->nr_popping > c->nr_returns / 16;
}

static void emit_all(const struct code *c, code_rule_fn *emit, void *arg)
{
	static const struct eh_rule unknown = { .kind = RULE_NONE, .flags = RULE_FROM_CODE };

	for (size_t i = 0; i < c->nr; i++)
		emit(arg, c->insns[i].at, code_rule_is_known(&c->insns[i].rule) ? &c->insns[i].rule : &unknown);
}

int code_rules(const uint8_t *bytes, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg)
{
	struct code c = { .bytes = bytes, .size = size, .vaddr = vaddr };
	int error = machine_decode(&c);

	if (!error && !pops_arguments(&c)) {
		code_link(&c);
		if (code_solve_backward(&c)) {
			code_solve_forward(&c);
			emit_all(&c, emit, arg);
		}
	}
	free(c.insns);
	return error;
}
