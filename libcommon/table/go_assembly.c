// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/go_assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/code_insns.h"
#include "table/code_rules.h"
#include "table/known_code.h"
#include "table/machine.h"

struct eh_rule go_frame_rule(int32_t depth, enum go_fp fp)
{
	struct eh_rule rule = { .kind = RULE_REG,
				.cfa_reg = REG_SP,
				.cfa_offset = depth + CFA_AT_ENTRY };

	memset(rule.saved, SAVED_LOST, sizeof(rule.saved));
	rule.saved[SAVED_RA] = RA_AT_ENTRY;
	rule.saved[SAVED_GO_G] = SAVED_SAME;
	if (fp == GO_FP_SAME)
		rule.saved[SAVED_FP] = SAVED_SAME;
	else if (fp == GO_FP_SAVED)
		rule.saved[SAVED_FP] = RA_AT_ENTRY - 1;
	return rule;
}

/* ---- which functions are special ---- */

static const struct {
	const char *name;
	int is;
} specials[] = {
	{ "_rt0_amd64_linux", GO_OUTERMOST },
	{ "_rt0_amd64", GO_OUTERMOST },
	{ "runtime.rt0_go", GO_FIRST },
	{ "runtime.goexit", GO_OUTERMOST },
	{ "runtime.mstart", GO_CALLED },
	{ "runtime.sigtramp", GO_CALLED },
	{ "runtime.cgoSigtramp", GO_CALLED },
	{ "runtime.sigprofNonGoWrapper", GO_CALLED },
	{ "crosscall2", GO_CALLED },
	{ "_rt0_amd64_linux_lib", GO_CALLED },
	{ "_rt0_amd64_lib", GO_CALLED },
	{ "runtime.sigreturn", GO_ENTERED_AT_START },
	{ "runtime.sigreturn__sigaction", GO_ENTERED_AT_START },
	{ "runtime.systemstack_switch", GO_ENTERED_AT_START },
	{ "runtime.asyncPreempt", GO_INTERRUPTS },
	{ "runtime.sigpanic", GO_INTERRUPTS },
	{ "runtime.sigpanic0", GO_INTERRUPTS },
	{ "runtime.clone", GO_NEW_THREAD },
	{ "runtime.mcall", GO_NO_RETURN },
	{ "runtime.cgocallback", GO_SWITCHES + GO_CGOCALLBACK },
	{ "runtime.systemstack", GO_SWITCHES + GO_SYSTEMSTACK },
	{ "runtime.asmcgocall", GO_SWITCHES + GO_ASMCGOCALL },
	{ "runtime.morestack", GO_SWITCHES + GO_MORESTACK },
};

int go_special_of(const struct go_function *function)
{
	const char *name = function->name;

	if (name[0] == '_' || name[0] == 'c' || !strncmp(name, "runtime.", 8))
		for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
			if (!strcmp(name, specials[i].name))
				return specials[i].is;
	return function->flags & GO_TOPFRAME ? GO_OUTERMOST : GO_ORDINARY;
}

bool go_is_assembly(const struct gopclntab *table, const struct go_function *function, int special)
{
	return special != GO_ORDINARY || function->flags || !gopclntab_marks_assembly(table);
}

/* ---- how deep sp is ---- */

/* of an instruction, besides a depth in bytes */
enum { NOT_REACHED = -1, UNKNOWN = -2, SWITCHED = -3 }; /* SWITCHED: sp has been written */

struct assembly {
	const struct gopclntab *table;
	const struct go_function *function;
	int special;
	struct code code;
	/* of each instruction: what code_rules() says, RULE_NONE for nothing */
	struct eh_rule *by_return;
	int32_t *depth; /* where pcsp does not hold */
	size_t nr_rules;
	bool uses_fp; /* and does not restore it */
	bool writes_fp;
	uint32_t curg;
	/* the depth at which sp is written: what sched.sp is short of the entry's */
	int32_t left_at;
	/* of asmcgocall, from sp: where it keeps the g that has called C. 0: not known */
	uint32_t cgo_slot;
};

/*
 * At the entry of what C has called, sp is CFA_AT_ENTRY short of a multiple of 16. Does it stay as
 * it is?
 */
static bool aligns_aligned(const struct assembly *a, const struct insn *insn, int32_t depth)
{
	return a->special == GO_FIRST && depth >= 0 &&
	       (depth + CFA_AT_ENTRY) % FUNCTION_ALIGNMENT == 0 &&
	       machine_aligns_sp(a->code.bytes, a->code.size, insn->at);
}

/* The depth after the instruction. */
static int32_t depth_after(const struct assembly *a, const struct insn *insn, int32_t depth)
{
	int64_t to = depth;

	if (aligns_aligned(a, insn, depth))
		return depth;
	if (insn->effect == INSN_LEAVE || insn->overwritten >> REG_SP & 1 ||
	    (insn_sets_reg(insn) && insn->reg == REG_SP &&
	     (insn->effect != INSN_SET || insn->base != REG_SP)))
		return SWITCHED;
	if (depth < 0)
		return depth;
	if (insn->effect == INSN_PUSH || insn->effect == INSN_POP)
		to += insn->effect == INSN_PUSH ? 8 : -8;
	else if (insn->effect == INSN_SET && insn->reg == REG_SP)
		to -= insn->displacement;
	else if (a->special == GO_NEW_THREAD &&
		 machine_is_syscall(a->code.bytes, a->code.size, insn->at))
		return UNKNOWN;
	return to < 0 || to > INT32_MAX / 2 ? UNKNOWN : to;
}

/* One more way leads to instruction i, with that depth. true: that is news */
static bool reach(struct assembly *a, size_t i, int32_t depth)
{
	int32_t before = a->depth[i];

	if (before == NOT_REACHED)
		a->depth[i] = depth;
	else if (before != depth)
		a->depth[i] = before == SWITCHED || depth == SWITCHED ? SWITCHED : UNKNOWN;
	return a->depth[i] != before;
}

#define MAX_PASSES 64

/*
 * Follows all ways from the entry. Depths change twice at most; should that take long, none is
 * known.
 */
static void follow(struct assembly *a)
{
	const struct code *c = &a->code;
	bool news = true;

	for (size_t i = 0; i < c->nr; i++)
		a->depth[i] = NOT_REACHED;
	a->depth[0] = 0;
	for (int pass = 0; news && pass < MAX_PASSES; pass++) {
		news = false;
		for (size_t i = 0; i < c->nr; i++) {
			const struct insn *insn = &c->insns[i];
			int32_t depth = a->depth[i];

			if (depth == NOT_REACHED)
				continue;
			if (insn->effect == INSN_JUMP || insn->effect == INSN_BRANCH) {
				size_t target = code_insn_at(c, insn->target);

				if (target < c->nr)
					news |= reach(a, target, depth);
			}
			if (insn_reaches_next(insn) && i + 1 < c->nr)
				news |= reach(a, i + 1, depth_after(a, insn, depth));
		}
	}
	for (size_t i = 0; news && i < c->nr; i++)
		a->depth[i] = UNKNOWN;
}

/* ---- rules ---- */

static void on_code_rule(void *arg, size_t at, const struct eh_rule *rule)
{
	struct assembly *a = arg;

	(void)at; /* the same instructions */
	if (a->nr_rules < a->code.nr)
		a->by_return[a->nr_rules++] = *rule;
}

static void look_at_fp(struct assembly *a)
{
	bool restores = false;

	for (size_t i = 0; i < a->code.nr; i++) {
		const struct insn *insn = &a->code.insns[i];
		bool sets = insn_sets_reg(insn) && insn->reg == REG_FP;

		a->writes_fp |=
			sets || insn->overwritten >> REG_FP & 1 || insn->effect == INSN_LEAVE;
		restores |= (sets && insn->effect != INSN_SET) || insn->effect == INSN_LEAVE;
	}
	a->uses_fp = a->writes_fp && !restores;
}

/*
 * What the way to the return says of registers goes for what C calls. Among Go's own functions it
 * goes for the frame pointer, and none of the others is the caller's at a return.
 */
static void take_registers(const struct assembly *a, struct eh_rule *rule,
			   const struct eh_rule *by_return)
{
	if (a->special == GO_CALLED)
		memcpy(rule->saved, by_return->saved, sizeof(rule->saved));
	else
		rule->saved[SAVED_FP] = by_return->saved[SAVED_FP];
	if (a->uses_fp)
		rule->saved[SAVED_FP] = SAVED_LOST;
}

static struct eh_rule rule_at_depth(const struct assembly *a, size_t i, int32_t depth)
{
	const struct eh_rule *by_return = &a->by_return[i];
	struct eh_rule rule = go_frame_rule(depth, a->writes_fp ? GO_FP_LOST : GO_FP_SAME);

	if (by_return->kind == RULE_REG && by_return->cfa_reg == rule.cfa_reg &&
	    by_return->cfa_offset == rule.cfa_offset)
		take_registers(a, &rule, by_return);
	return rule;
}

/*
 * Does the instruction lead to a return without further ado, so that sp points to the return
 * address there?
 */
static bool returns_straight(const struct assembly *a, size_t i)
{
	const struct code *c = &a->code;

	for (; i < c->nr; i++) {
		const struct insn *insn = &c->insns[i];

		if (machine_is_return(c->bytes, c->size, insn->at))
			return true;
		if ((insn->effect != INSN_OTHER && insn->effect != INSN_LOAD &&
		     insn->effect != INSN_SET && insn->effect != INSN_STORE &&
		     insn->effect != INSN_POP) ||
		    depth_after(a, insn, 0) == SWITCHED)
			return false;
	}
	return false;
}

/*
 * Where systemstack comes back, it loads sp from a g that it has from struct m: the last load of
 * that register.
 */
static uint32_t find_curg(const struct assembly *a)
{
	const struct insn *insns = a->code.insns;
	uint8_t g = NO_REG;

	for (size_t i = a->code.nr; i-- > 0;) {
		if (insns[i].effect != INSN_LOAD)
			continue;
		if (insns[i].reg == REG_SP)
			g = insns[i].base;
		else if (g != NO_REG && insns[i].reg == g)
			return insns[i].displacement > 0 && insns[i].displacement < 1 << 16
				       ? insns[i].displacement
				       : 0;
	}
	return 0;
}

/*
 * Where asmcgocall comes back, it loads the g from its place on g0's stack, and then that g's
 * stack.hi, the second word.
 */
static uint32_t find_cgo_slot(const struct assembly *a)
{
	const struct insn *insns = a->code.insns;

	for (size_t i = 0; i + 1 < a->code.nr; i++)
		if (insns[i].effect == INSN_LOAD && insns[i].base == REG_SP &&
		    insns[i + 1].effect == INSN_LOAD && insns[i + 1].base == insns[i].reg &&
		    insns[i + 1].displacement == 8)
			return insns[i].displacement >= 8 && insns[i].displacement < 1 << 8
				       ? insns[i].displacement
				       : 0;
	return 0;
}

/*
 * Sp is loaded with another stack's: how deep that leaves the one before. Aligning sp is no change
 * of stacks.
 */
static int32_t find_depth_left_at(const struct assembly *a)
{
	int32_t found = NOT_REACHED;

	for (size_t i = 0; i < a->code.nr; i++) {
		const struct insn *insn = &a->code.insns[i];

		if (a->depth[i] < 0 || !insn_sets_reg(insn) ||
		    depth_after(a, insn, a->depth[i]) != SWITCHED)
			continue;
		if (found != NOT_REACHED && found != a->depth[i])
			return UNKNOWN;
		found = a->depth[i];
	}
	return found;
}

static struct eh_rule rule_of_switch(const struct assembly *a, int32_t pcsp)
{
	int which = a->special > GO_SWITCHES ? a->special - GO_SWITCHES : GO_SWITCH;
	int32_t depth = which == GO_CGOCALLBACK ? pcsp : a->left_at;
	struct eh_rule rule = { .kind = RULE_OTHER_STACK };

	if (which != GO_MORESTACK && (depth < 0 || depth > INT16_MAX - CFA_AT_ENTRY))
		which = GO_SWITCH;
	if (which != GO_MORESTACK && which != GO_SWITCH)
		rule.deref_offset = depth + CFA_AT_ENTRY;
	rule.cfa_offset = which | (which == GO_ASMCGOCALL ? a->cgo_slot : a->curg) << 8;
	return rule;
}

/*
 * sp is not what it was. From the way to the return a rule may be had that counts from elsewhere: a
 * register or a word that sp was saved in, or sp once it was restored from there.
 */
static struct eh_rule rule_elsewhere(const struct assembly *a, size_t i, int32_t depth,
				     int32_t pcsp)
{
	const struct eh_rule *by_return = &a->by_return[i];
	bool by_sp = by_return->kind == RULE_REG && by_return->cfa_reg == REG_SP;
	struct eh_rule rule = *by_return;

	memcpy(rule.saved, go_frame_rule(0, GO_FP_LOST).saved, sizeof(rule.saved));
	take_registers(a, &rule, by_return);
	/*
	 * cgocallback comes back to its first stack, and there is no way from the other to a return
	 * without that
	 */
	if (by_sp && (returns_straight(a, i) || a->special == GO_SWITCHES + GO_CGOCALLBACK))
		return rule;
	if (by_return->kind == RULE_DEREF || (by_return->kind == RULE_REG && !by_sp)) {
		rule.flags |= RULE_CROSSES;
		return rule;
	}
	if (depth != SWITCHED)
		return (struct eh_rule){ .kind = RULE_UNSUPPORTED };
	if (a->special == GO_NO_RETURN || a->special == GO_NEW_THREAD) {
		struct eh_rule first = go_frame_rule(0, GO_FP_LOST);

		first.saved[SAVED_RA] = SAVED_LOST;
		return first;
	}
	return rule_of_switch(a, pcsp);
}

static void emit_all(struct assembly *a, go_rule_fn *emit, void *arg)
{
	struct go_values v = gopclntab_values(a->table, a->function->pcsp, a->function->size);
	bool by_table = !(a->function->flags & GO_SPWRITE), good = true;

	for (size_t i = 0; i < a->code.nr; i++) {
		uint32_t at = a->code.insns[i].at;
		int32_t depth = by_table ? UNKNOWN : a->depth[i];
		struct eh_rule rule;

		while (good && at >= v.end)
			good = go_values_next(&v);
		if (!good) {
			emit(arg, at, &(struct eh_rule){ .kind = RULE_NONE }); /* padding */
			return;
		}
		if (by_table && v.value >= 0 && v.value % 8 == 0)
			depth = v.value;
		rule = depth >= 0 ? rule_at_depth(a, i, depth)
				  : rule_elsewhere(a, i, depth, v.value);
		if (a->special == GO_INTERRUPTS)
			rule.flags |= RULE_SIGNAL;
		emit(arg, at, &rule);
	}
}

static int work_out(struct assembly *a, go_rule_fn *emit, void *arg)
{
	int error = machine_decode(&a->code);

	if (error)
		return error;
	a->by_return = calloc(a->code.nr + 1, sizeof(*a->by_return));
	a->depth = calloc(a->code.nr + 1, sizeof(*a->depth));
	if (!a->by_return || !a->depth)
		return -ENOMEM;
	look_at_fp(a);
	/* most assembly leaves sp and the frame pointer alone, and needs no more than its pcsp */
	if (a->writes_fp || a->special == GO_CALLED || a->function->flags & GO_SPWRITE)
		error = code_rules(a->code.bytes, a->code.size, a->code.vaddr, on_code_rule, a);
	if (error)
		return error;
	if (a->function->flags & GO_SPWRITE) {
		follow(a);
		a->left_at = find_depth_left_at(a);
	}
	if (a->special == GO_SWITCHES + GO_SYSTEMSTACK)
		a->curg = find_curg(a);
	if (a->special == GO_SWITCHES + GO_ASMCGOCALL)
		a->cgo_slot = find_cgo_slot(a);
	emit_all(a, emit, arg);
	return 0;
}

int go_assembly(const struct gopclntab *table, const struct go_function *function, int special,
		const uint8_t *code, uint32_t *curg, go_rule_fn *emit, void *arg)
{
	struct assembly a = {
		.table = table,
		.function = function,
		.special = special,
		.curg = *curg,
		.code = { .bytes = code, .size = function->size, .vaddr = function->start },
	};
	struct eh_rule rule = known_outermost();
	struct known_code restorer;
	int error = 0;

	if (known_code_at("musl's __restore_rt", code, function->size, &restorer))
		emit(arg, 0, &restorer.rows[0].rule);
	else if (special == GO_OUTERMOST)
		emit(arg, 0, &rule);
	else
		error = work_out(&a, emit, arg);
	*curg = a.curg;
	free(a.code.insns);
	free(a.by_return);
	free(a.depth);
	return error;
}
