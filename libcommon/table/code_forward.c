// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that do not return: musl's path from __libc_start_main to exit, and the beginning of
 * its threads. They cannot be reached backwards from a return, so they are followed on all paths
 * from their first instruction, where the rule is known. The first rule that reaches an instruction
 * is kept: such a function is entered at one place only, and its paths have the same frame at an
 * instruction, as in all compiled code.
 *
 * Code that is left only by a computed jump cannot be reached backwards from a return either: the
 * block of a switch between the comparison and the jump. Its beginning is on a path that does
 * return, and it is followed from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/code_rule.h"
#include "table/code_solve.h"
#include "table/machine.h"

#define MAX_FORWARD 4096 /* instructions of such a function */

struct forward {
	struct code *code;
	uint32_t reached[MAX_FORWARD]; /* numbers of instructions, in the order of being reached */
	uint32_t nr, done;
};

static bool ends_function(const struct insn *insn)
{
	return insn->padding || insn->effect == INSN_CALL || !insn_reaches_next(insn);
}

/*
 * A function that only jumps through a register, as musl's wrapper_cmp() does: no path leads into
 * it, and padding follows.
 */
static bool is_lone_jump(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i];
	size_t before = i;

	if (insn->effect != INSN_INDIRECT || insn->jumped_to || i + 1 == c->nr || !insn[1].padding)
		return false;
	while (before && c->insns[before - 1].padding)
		before--;
	return before && ends_function(&c->insns[before - 1]);
}

/*
 * Does a function seem to begin here? Aligned, behind the end of another or padding, and called or
 * with a prologue. What this code jumps to may be a loop; where endbr64 stands it is a function, by
 * a tail call
 */
static bool begins_function(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i];

	if (!code_is_aligned(c, i) || (i && !ends_function(insn - 1)))
		return false;
	return insn->called || is_lone_jump(c, i) ||
	       (code_is_prologue(c, i) &&
		(!insn->jumped_to || insn->landing || code_is_stack_check(c, i)));
}

/* false: it is too large to be followed */
static bool reach(struct forward *f, size_t i, const struct eh_rule *rule)
{
	if (i >= f->code->nr || f->code->insns[i].rule.kind != RULE_NONE)
		return true;
	if (f->nr == MAX_FORWARD)
		return false;
	f->code->insns[i].rule = *rule;
	f->reached[f->nr++] = i;
	return true;
}

/*
 * Is there padding up to where a function may begin? Go's compiler for arm64 writes single ones for
 * its own purposes.
 */
static bool fills_up(const struct code *c, size_t i)
{
	bool padded = c->insns[i].padding;

	while (RA_IN_REGISTER && i < c->nr && c->insns[i].padding)
		i++;
	return padded && (!RA_IN_REGISTER || i == c->nr || code_is_aligned(c, i));
}

/*
 * Does this call seem not to return, being the last one before padding or another function? Or
 * before a block that is jumped to, where no return leads backwards to the callee: compilers put
 * the unlikely blocks of many functions one behind the other.
 */
static bool is_last_call(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i], *next = insn + 1;
	bool may_return = insn->target == NO_TARGET || c->insns[insn->target].changed;

	/*
	 * where a call puts the return address into a register, what is called is a function, and
	 * no part of this one; and a prologue behind the call is another function's
	 */
	return fills_up(c, i + 1) || begins_function(c, i + 1) ||
	       (RA_IN_REGISTER && (next->called || next->prologue)) ||
	       (!may_return && next->jumped_to);
}

/* Reaches what comes after instruction i. false: that is not known, or too much */
static bool pass(struct forward *f, size_t i)
{
	const struct insn *insn = &f->code->insns[i];
	struct eh_rule rule = insn->rule;
	bool has_next = i + 1 < f->code->nr;

	switch (insn->effect) {
	case INSN_INDIRECT:
		return code_rule_is_entry(&rule); /* without a frame: a tail call */
	case INSN_STOP:
		return true;
	case INSN_EXIT:
		return reach(f, i + 1, &rule);
	case INSN_JUMP:
		return reach(f, insn->target, &rule);
	case INSN_BRANCH:
		if (!reach(f, insn->target, &rule))
			return false;
		break;
	case INSN_CALL:
		if (has_next && is_last_call(f->code, i))
			return true;
		break;
	}
	return !code_rule_follow(&rule, insn) || reach(f, i + 1, &rule);
}

/* All or nothing: where its ways lead out of what is known, it may return after all. */
static void follow_function(struct code *c, size_t first)
{
	struct eh_rule entry = code_rule_at_entry();
	struct forward f = { .code = c };
	bool known = reach(&f, first, &entry);

	while (known && f.done < f.nr)
		known = pass(&f, f.reached[f.done++]);
	for (uint32_t i = 0; !known && i < f.nr; i++)
		c->insns[f.reached[i]].rule = (struct eh_rule){ .kind = RULE_NONE };
}

static bool leads_to_unknown(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i];

	return insn->effect == INSN_BRANCH && (c->insns[insn->target].rule.kind == RULE_NONE ||
					       (i + 1 < c->nr && insn[1].rule.kind == RULE_NONE));
}

/*
 * What holds before a branch, by one of its ways, holds on the other one, however that goes on: up
 * to the first call, which may be one that does not return.
 */
static void follow_branch(struct code *c, size_t i)
{
	struct forward f = { .code = c };

	pass(&f, i);
	while (f.done < f.nr) {
		if (c->insns[f.reached[f.done]].effect != INSN_CALL)
			pass(&f, f.reached[f.done]);
		f.done++;
	}
}

void code_solve_branches(struct code *c)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->insns[i].rule.kind == RULE_REG && c->insns[i].rule.cfa_reg == REG_SP &&
		    leads_to_unknown(c, i))
			follow_branch(c, i);
}

void code_solve_forward(struct code *c)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->insns[i].rule.kind == RULE_NONE && begins_function(c, i))
			follow_function(c, i);
	code_solve_branches(c);
}

/* ---- pieces that are called without a frame of their own ---- */

struct pieces {
	struct code *code;
	uint32_t *reached; /* numbers of instructions, each once, in the order of being reached */
	size_t nr, done;
	bool *is_reached;
	bool disagree; /* two ways to one instruction */
};

static void reach_piece(struct pieces *p, size_t i, const struct eh_rule *rule)
{
	struct insn *insn = &p->code->insns[i];

	if (i >= p->code->nr)
		return;
	if (p->is_reached[i]) {
		p->disagree |= memcmp(&insn->rule, rule, sizeof(*rule)) != 0;
	} else if (!code_rule_is_known(&insn->rule) || insn->effect == INSN_RETURN) {
		insn->rule = *rule;
		p->is_reached[i] = true;
		p->reached[p->nr++] = i;
	}
}

/* A piece that is called begins with its return address on the stack, where calls push that. */
static void call_piece(struct pieces *p, size_t i)
{
	const struct insn *insn = &p->code->insns[i];
	struct eh_rule rule = insn->rule;

	if (RA_IN_REGISTER || insn->effect != INSN_CALL || insn->target == NO_TARGET ||
	    rule.kind != RULE_REG || rule.cfa_reg != REG_SP || rule.cfa_offset == CFA_AT_ENTRY ||
	    rule.from_base)
		return;
	rule.cfa_offset += 8;
	reach_piece(p, insn->target, &rule);
}

static void pass_in_piece(struct pieces *p, size_t i)
{
	const struct insn *insn = &p->code->insns[i];
	struct eh_rule rule = insn->rule;

	call_piece(p, i);
	if (insn->effect == INSN_JUMP || insn->effect == INSN_BRANCH)
		reach_piece(p, insn->target, &rule);
	if (!insn_reaches_next(insn))
		return;
	if (insn->effect == INSN_POP && insn->reg != REG_SP && saved_index(insn->reg) < 0 &&
	    !rule.from_base)
		rule.cfa_offset -= 8;
	else if (!code_rule_follow(&rule, insn))
		return;
	if (rule.cfa_offset > CFA_AT_ENTRY)
		reach_piece(p, i + 1, &rule);
}

int code_solve_pieces(struct code *c)
{
	struct pieces p = { .code = c };
	int error;

	p.reached = calloc(c->nr + 1, sizeof(*p.reached));
	p.is_reached = calloc(c->nr + 1, sizeof(*p.is_reached));
	error = p.reached && p.is_reached ? 0 : -ENOMEM;
	for (size_t i = 0; i < c->nr && !error; i++)
		if (!p.is_reached[i])
			call_piece(&p, i);
	while (p.done < p.nr)
		pass_in_piece(&p, p.reached[p.done++]);
	for (size_t i = 0; p.disagree && i < p.nr; i++)
		c->insns[p.reached[i]].rule = code_rule_conflict();
	free(p.reached);
	free(p.is_reached);
	return error;
}
