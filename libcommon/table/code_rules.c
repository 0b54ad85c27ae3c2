// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_rules.h"

#include <errno.h>
#include <stdbool.h>
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

	for (size_t i = 0; i < c->nr; i++) {
		const struct insn *insn = &c->insns[i];
		bool is_known =
			code_rule_is_known(&insn->rule) && !code_rule_is_by_reg(&insn->rule);

		if (!i || insn->at > insn[-1].at)
			emit(arg, insn->at, is_known ? &insn->rule : &unknown);
	}
}

/* 0, with the rules in the instructions if *found; or -ENOMEM */
static int find_rules(struct code *c, bool *found)
{
	int error = machine_decode(c);

	*found = !error && !pops_arguments(c);
	if (*found) {
		code_link(c);
		*found = code_solve_backward(c);
	}
	return error;
}

int code_rules(const uint8_t *bytes, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg)
{
	struct code c = { .bytes = bytes, .size = size, .vaddr = vaddr };
	bool found;
	int error = find_rules(&c, &found);

	if (found) {
		code_solve_forward(&c);
		emit_all(&c, emit, arg);
	}
	free(c.insns);
	return error;
}

/*
 * The frame pointer is set. Have the two effects before stored its old value there, and the return
 * address above?
 */
static bool saves_record(const struct insn *insn)
{
	return insn[-1].effect == INSN_STORE && insn[-1].reg == EH_RA &&
	       insn[-2].effect == INSN_STORE && insn[-2].reg == REG_FP && insn[-2].base == REG_SP &&
	       insn[-2].displacement == insn->displacement;
}

/* Does a function begin by `push %rbp; mov %rsp, %rbp`, or as that is on other machines? */
static bool keeps_fp(const struct code *c)
{
	for (size_t i = 1; i < c->nr; i++) {
		const struct insn *insn = &c->insns[i];

		if (insn->effect == INSN_SET && insn->reg == REG_FP && insn->base == REG_SP &&
		    ((insn[-1].effect == INSN_PUSH && insn[-1].reg == REG_FP &&
		      !insn->displacement) ||
		     (i > 1 && RA_IN_REGISTER && saves_record(insn))))
			return true;
	}
	return false;
}

int code_rules_generated(const uint8_t *bytes, size_t size, uint64_t vaddr, code_rule_fn *emit,
			 void *arg)
{
	struct code c = { .bytes = bytes, .size = size, .vaddr = vaddr, .generated = true };
	bool found;
	int error = find_rules(&c, &found);

	if (!error && keeps_fp(&c)) {
		error = -ENOTSUP;
	} else if (found) {
		code_solve_branches(&c);
		error = code_solve_pieces(&c);
		if (!error)
			emit_all(&c, emit, arg);
	}
	free(c.insns);
	return error;
}
