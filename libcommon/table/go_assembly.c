// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/go_assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/code_insns.h"
#include "table/code_rule.h"
#include "table/code_rules.h"
#include "table/known_code.h"
#include "table/machine.h"

/* saved[i] lies so many words from the CFA; if that is far, it is counted from `base` words */
static void set_place(struct eh_rule *rule, int i, int32_t words, int32_t base)
{
	if (base - 1 > SAVED_ODD) {
		rule->saved[i] = words;
		return;
	}
	rule->base_reg = BASE_BELOW_CFA & ((1 << RULE_REG_BITS) - 1);
	rule->deref_offset = base;
	rule->from_base |= 1 << i;
	rule->saved[i] = words - base;
}

struct eh_rule go_frame_rule(int32_t depth, enum go_fp fp)
{
	struct eh_rule rule = { .kind = RULE_REG,
				.cfa_reg = REG_SP,
				.cfa_offset = depth + CFA_AT_ENTRY };
	/* where the return address is in a register, the prologue saves it at sp */
	bool by_register = RA_IN_REGISTER && !depth;
	int32_t ra = RA_IN_REGISTER ? -(depth / 8) : RA_AT_ENTRY;

	if (ra < INT16_MIN)
		return (struct eh_rule){ .kind = RULE_UNSUPPORTED };
	memset(rule.saved, SAVED_LOST, sizeof(rule.saved));
	if (by_register)
		rule.saved[SAVED_RA] = SAVED_SAME;
	else
		set_place(&rule, SAVED_RA, ra, ra);
	rule.saved[SAVED_GO_G] = SAVED_SAME;
	if (fp == GO_FP_SAME)
		rule.saved[SAVED_FP] = SAVED_SAME;
	else if (fp == GO_FP_SAVED)
		set_place(&rule, SAVED_FP, ra - 1, ra);
	return rule;
}

/* ---- which functions are special ---- */

static const struct {
	const char *name;
	int is;
} specials[] = {
	{ "_rt0_amd64_linux", GO_OUTERMOST },
	{ "_rt0_amd64", GO_OUTERMOST },
	{ "_rt0_arm64_linux", GO_OUTERMOST },
	{ "main", RA_IN_REGISTER ? GO_OUTERMOST : GO_ORDINARY }, /* calls or jumps to rt0_go */
	{ "runtime.rt0_go", GO_FIRST },
	{ "runtime.goexit", GO_OUTERMOST },
	{ "runtime.mstart", GO_CALLED },
	{ "runtime.sigtramp", GO_CALLED },
	{ "runtime.cgoSigtramp", GO_CALLED },
	{ "runtime.sigprofNonGoWrapper", GO_CALLED },
	{ "crosscall2", GO_CALLED },
	{ "_rt0_amd64_linux_lib", GO_CALLED },
	{ "_rt0_amd64_lib", GO_CALLED },
	{ "_rt0_arm64_linux_lib", GO_CALLED },
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

	if (strchr("_cm", name[0]) || !strncmp(name, "runtime.", 8))
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
	/* of each of code.insns: what code_rules() says, RULE_NONE for nothing */
	struct eh_rule *by_return;
	int32_t *depth; /* where pcsp does not hold */
	bool uses_fp;   /* and does not restore it */
	bool writes_fp;
	uint32_t curg;
	/* the depth at which sp is written: what sched.sp is short of the entry's */
	int32_t left_at;
	/*
	 * of asmcgocall, from sp: where it keeps the g that has called C, and how deep that g's
	 * stack was, in two words; the upper one. 0: not known
	 */
	uint32_t cgo_slot;
	/* of the two: have they been stored, at the instruction in turn? */
	uint32_t nr_kept;
	/* for RA_IN_REGISTER: what is known of the return address there */
	bool has_called, has_returned;
	int32_t saved_at; /* in bytes from the CFA; 0: it has not been saved */
};

/*
 * At the entry of what C has called, sp is CFA_AT_ENTRY short of a multiple of 16. Does it stay as
 * it is?
 */
static bool aligns_aligned(const struct assembly *a, const struct insn *insn, int32_t depth)
{
	uint8_t from;

	return a->special == GO_FIRST && depth >= 0 &&
	       (depth + CFA_AT_ENTRY) % FUNCTION_ALIGNMENT == 0 &&
	       machine_aligns_sp(a->code.bytes, a->code.size, insn->at, &from) && from == REG_SP;
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

	for (size_t i = code_insn_at(&a->code, at); i < a->code.nr && a->code.insns[i].at == at;
	     i++)
		a->by_return[i] = *rule;
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

static void lose_register(struct eh_rule *rule, int i)
{
	code_rule_set_odd(rule, i);
	rule->saved[i] = SAVED_LOST;
}

/*
 * The rule that the way to the return gives. What it says of registers goes for what C calls. Among
 * Go's own functions it goes for the frame pointer and the return address, and none of the others
 * is the caller's at a return.
 */
static struct eh_rule rule_by_return(const struct assembly *a, const struct eh_rule *by_return)
{
	struct eh_rule rule = *by_return;

	rule.flags = 0;
	for (int i = 0; i < NR_SAVED; i++) {
		bool goes = a->special == GO_CALLED || i == SAVED_FP || i == SAVED_RA;

		if (i == SAVED_FP ? a->uses_fp : !goes)
			lose_register(&rule, i);
	}
	if (a->special != GO_CALLED)
		rule.saved[SAVED_GO_G] = SAVED_SAME;
	return rule;
}

/* The instruction is passed, in the order of the code. */
static void pass(struct assembly *a, size_t i)
{
	const struct insn *insn = &a->code.insns[i];
	uint32_t above = (uint32_t)insn->displacement - a->cgo_slot + 8;

	if (a->cgo_slot && insn->effect == INSN_STORE && insn->base == REG_SP &&
	    a->depth[i] == SWITCHED && (above == 0 || above == 8))
		a->nr_kept++;
	if (insn->effect == INSN_STORE && insn->reg == EH_RA && insn->base == REG_SP &&
	    a->depth[i] >= 0 && insn->displacement < a->depth[i])
		a->saved_at = insn->displacement - a->depth[i];
	a->has_called |= insn->effect == INSN_CALL;
	if (insn->effect == INSN_RETURN) {
		a->has_returned = true;
		a->nr_kept = 0;
	}
}

/*
 * Where calls put the return address into a register: where is it, if the way to the return does
 * not say?
 */
static void find_return_address(const struct assembly *a, struct eh_rule *rule, int32_t depth)
{
	if (depth && a->saved_at == -depth) /* by the usual prologue */
		return;
	lose_register(rule, SAVED_RA);
	if (depth && a->saved_at && a->saved_at % 8 == 0 && a->saved_at / 8 > SAVED_ODD)
		rule->saved[SAVED_RA] = a->saved_at / 8;
	else if (!a->has_called || (!depth && a->saved_at))
		rule->saved[SAVED_RA] = SAVED_SAME;
	else
		rule->kind = RULE_UNSUPPORTED;
}

/* Is this the new thread, or has the caller been left for good? */
static bool begins_stack(const struct assembly *a, size_t i)
{
	return (a->special == GO_NEW_THREAD && a->has_returned) ||
	       (a->special == GO_NO_RETURN &&
		(a->has_called || a->code.insns[i].effect == INSN_CALL));
}

static struct eh_rule rule_at_depth(const struct assembly *a, size_t i, int32_t depth)
{
	const struct eh_rule *by_return = &a->by_return[i];
	struct eh_rule rule = go_frame_rule(depth, a->writes_fp ? GO_FP_LOST : GO_FP_SAME);

	if (by_return->kind == RULE_REG && by_return->cfa_reg == rule.cfa_reg &&
	    by_return->cfa_offset == rule.cfa_offset)
		rule = rule_by_return(a, by_return);
	if (RA_IN_REGISTER && by_return->kind == RULE_NONE)
		find_return_address(a, &rule, depth);
	if (RA_IN_REGISTER && begins_stack(a, i)) {
		rule.kind = RULE_REG;
		lose_register(&rule, SAVED_RA);
	}
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
	uint8_t of = REG_SP;
	bool is_g = false;

	for (size_t i = a->code.nr; i-- > 0;) {
		if (insns[i].reg != of || insns[i].base == of)
			continue;
		if (insns[i].effect == INSN_SET && insns[i].base != NO_REG && !is_g) {
			of = insns[i].base; /* sp is copied from there */
		} else if (insns[i].effect == INSN_LOAD) {
			if (is_g)
				return insns[i].displacement > 0 && insns[i].displacement < 1 << 16
					       ? insns[i].displacement
					       : 0;
			of = insns[i].base;
			is_g = true;
		}
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
	const struct insn *g = NULL;

	for (size_t i = 0; i < a->code.nr; i++) {
		if (insns[i].effect != INSN_LOAD)
			continue;
		if (g && insns[i].base == g->reg && insns[i].displacement == 8) {
			int32_t slot = g->displacement + 8 * GO_DEPTH_ABOVE_G;

			return slot >= 8 && slot < 1 << 8 ? slot : 0;
		}
		g = insns[i].base == REG_SP ? &insns[i] : NULL;
	}
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

	if ((which == GO_ASMCGOCALL && a->nr_kept < 2) ||
	    (which != GO_MORESTACK && (depth < 0 || depth > INT16_MAX - CFA_AT_ENTRY)))
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
	struct eh_rule rule = rule_by_return(a, by_return);

	rule.flags = by_return->flags;
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
		if (a->special == GO_INTERRUPTS) {
			rule.flags |= RULE_SIGNAL;
			machine_add_interrupted(&rule);
		}
		if (!i || at > a->code.insns[i - 1].at)
			emit(arg, at, &rule);
		pass(a, i);
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
	if (RA_IN_REGISTER || a->writes_fp || a->special == GO_CALLED ||
	    a->function->flags & GO_SPWRITE)
		error = code_rules(a->code.bytes, a->code.size, a->code.vaddr, on_code_rule, a);
	if (error)
		return error;
	if (RA_IN_REGISTER || a->function->flags & GO_SPWRITE)
		follow(a);
	if (a->function->flags & GO_SPWRITE)
		a->left_at = find_depth_left_at(a);
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
