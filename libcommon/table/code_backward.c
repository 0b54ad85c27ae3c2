// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A backward data-flow analysis (Kildall, 1973: the meet over all paths). Each instruction has a
 * cell, insn.rule: what is known of the place before it.
 *
 *	RULE_NONE		nothing: no path from here to a return is known yet (top)
 *	RULE_REG, RULE_DEREF, RULE_SUM	the rule that holds on all known paths
 *	   with SAVED_ODD	the rule, without the place of this register's value
 *	RULE_UNSUPPORTED	paths disagree in the CFA: no rule holds (bottom)
 *
 * A cell is computed from the cells of the instructions that come next: from one, by undoing the
 * instruction's effect; at a branch, by the meet of both. The meet only goes down: none and a rule
 * give the rule, two rules that differ in saved registers lose these, and two that differ in the
 * CFA give the conflict. A function's depth in this order is that of its registers, so cells that
 * only went down would settle after a few passes; passes run from the last instruction to the
 * first, so that one is enough, except for changes by the backward jumps of loops.
 *
 * Two things can also raise a cell or move it sideways, so that this does not prove that the passes
 * end: is_last_call() makes a call's cell depend on whether its target has a rule *yet*; and a loop
 * that moves the CFA's register gives a new offset on each pass. So passes are counted, and after
 * too many passes no rule of this code is used.
 */
#include <string.h>

#include "table/code_rule.h"
#include "table/code_solve.h"
#include "table/machine.h"

#define MAX_PASSES 64

static bool same(const struct eh_rule *a, const struct eh_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* what both say; where one says nothing, what the other says */
static struct eh_rule meet(const struct eh_rule *a, const struct eh_rule *b)
{
	struct eh_rule rule = *a;

	if (a->kind == RULE_NONE || same(a, b))
		return *b;
	if (b->kind == RULE_NONE)
		return *a;
	if (a->kind != b->kind || a->cfa_reg != b->cfa_reg || a->cfa_offset != b->cfa_offset ||
	    a->deref_offset != b->deref_offset)
		return code_rule_conflict();
	for (int i = 0; i < NR_SAVED; i++)
		if (a->saved[i] != b->saved[i] || ((a->from_base ^ b->from_base) >> i & 1) ||
		    (a->from_base >> i & 1 && a->base_reg != b->base_reg))
			code_rule_set_odd(&rule, i);
	return rule.saved[SAVED_RA] == SAVED_ODD ? code_rule_conflict() : rule;
}

bool code_is_aligned(const struct code *c, size_t i)
{
	return !((c->vaddr + c->insns[i].at) % FUNCTION_ALIGNMENT);
}

/* of a large frame, what is compared is worked out first */
bool code_is_stack_check(const struct code *c, size_t i)
{
	return c->insns[i].stack_check ||
	       (i + 1 < c->nr && c->insns[i + 1].stack_check && c->insns[i].effect == INSN_SET &&
		c->insns[i].base == REG_SP);
}

bool code_is_prologue(const struct code *c, size_t i)
{
	if (code_is_stack_check(c, i))
		return true;
	if (c->insns[i].landing && i + 1 < c->nr)
		i++;
	return c->insns[i].prologue ||
	       (c->insns[i].effect == INSN_PUSH && saved_index(c->insns[i].reg) >= 0);
}

/*
 * Does a function begin at instruction i, or behind the padding there? With a prologue; or behind
 * padding, if this code does not jump there as to a loop.
 */
static bool function_follows(const struct code *c, size_t i)
{
	bool padded = c->insns[i].padding;

	while (i < c->nr && c->insns[i].padding)
		i++;
	if (i == c->nr || !code_is_aligned(c, i))
		return padded;
	return code_is_prologue(c, i) ||
	       (padded && !(c->insns[i].jumped_to && !c->insns[i].called));
}

/*
 * Does this call seem not to return? Nothing says that its target does; or another function begins
 * behind it, so that the compiler left nothing to return to. What comes next in memory says nothing
 * about this place then. That it is aligned is not enough where the callee is in this code and
 * does return: assembly (x265's) calls its own helpers without a frame, and behind such a call the
 * CFA is what it is at a function's beginning.
 */
static bool is_last_call(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i], *next = insn + 1;
	const struct eh_rule *callee =
		insn->target != NO_TARGET ? &c->insns[insn->target].rule : NULL;

	/*
	 * where a call overwrites the return address's register, code that still needs that is not
	 * behind it
	 */
	if (RA_IN_REGISTER)
		return i + 1 < c->nr && (next->called || next->rule.saved[SAVED_RA] == SAVED_SAME);
	if (callee && callee->kind == RULE_NONE)
		return true;
	if (i + 1 == c->nr)
		return false;
	if (next->called)
		return true;
	if (!code_rule_is_entry(&next->rule) || next->effect == INSN_RETURN)
		return false;
	if (callee && code_rule_is_known(callee))
		return function_follows(c, i + 1);
	return next->padding || code_is_aligned(c, i + 1);
}

/* the cell of instruction i, from the cells of those that come next */
static struct eh_rule rule_before(const struct code *c, size_t i)
{
	static const struct eh_rule none = { .kind = RULE_NONE };
	const struct insn *insn = &c->insns[i];
	struct eh_rule rule = none;

	switch (insn->effect) {
	case INSN_RETURN:
		rule = code_rule_at_entry();
		rule.cfa_offset += insn->displacement;
		return rule;
	case INSN_STOP:
	case INSN_EXIT:
	case INSN_INDIRECT:
		return none;
	case INSN_JUMP:
		return c->insns[insn->target].rule;
	}
	if (i + 1 < c->nr)
		rule = c->insns[i + 1].rule;
	if (insn->effect == INSN_BRANCH)
		return meet(&rule, &c->insns[insn->target].rule);
	if (insn->effect == INSN_CALL && is_last_call(c, i))
		return none;
	if (code_rule_is_known(&rule))
		code_rule_undo(&rule, insn);
	/*
	 * a function that is called has its return address at sp: where that does not come out,
	 * something was misread
	 */
	return insn->called && code_rule_is_known(&rule) && !code_rule_is_entry(&rule)
		       ? code_rule_conflict()
		       : rule;
}

/*
 * Has a cell that instruction i's is computed from changed since that was done last? What comes
 * next is computed just before, in this pass; a target further up was, in the last one, computed
 * after i.
 */
static bool is_stale(const struct code *c, size_t i, int pass)
{
	const struct insn *insn = &c->insns[i];

	return pass == 1 || (i + 1 < c->nr && insn[1].changed == pass) ||
	       (insn->target != NO_TARGET && c->insns[insn->target].changed >= pass - 1);
}

bool code_solve_backward(struct code *c)
{
	for (int pass = 1; pass <= MAX_PASSES; pass++) {
		bool changed = false;

		for (size_t i = c->nr; i-- > 0;) {
			struct eh_rule rule;

			if (!is_stale(c, i, pass))
				continue;
			rule = rule_before(c, i);
			if (same(&rule, &c->insns[i].rule))
				continue;
			c->insns[i].rule = rule;
			c->insns[i].changed = pass;
			changed = true;
		}
		if (!changed)
			return true;
	}
	return false;
}
