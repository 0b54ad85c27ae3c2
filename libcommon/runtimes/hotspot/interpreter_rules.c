// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/interpreter_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table/code_insns.h"
#include "table/machine.h"

#define SENDER_SP_BELOW_FP 8

/*
 * What is known of the place before an instruction. With .framed, that is all; else the return
 * address is in a register or on the stack, the caller's sp is in a register or counted from sp,
 * and the frame pointer is the caller's or has just been saved.
 */
struct place {
	bool reached, lost;
	bool disagreed; /* it was lost for that */
	bool framed;
	bool ra_in_register, cfa_in_register, fp_pushed, fp_set;
	bool sp_is_fp; /* framed, and on a machine that restores the two with the frame's record */
	/* framed: cfa_register has the caller's sp already, or it is NO_REG */
	uint8_t ra_register, cfa_register;
	int32_t ra_at, cfa_at, fp_at; /* from sp */
};

#define MAX_LOSSES 8 /* and more than meet() can change of a place */

struct follower {
	struct code code;
	struct place *places;
	uint32_t *todo;
	size_t nr_todo;
};

/* ---- one instruction ---- */

static void move_sp(struct place *p, int32_t by)
{
	if (p->framed)
		return;
	p->ra_at -= p->ra_in_register ? 0 : by;
	p->cfa_at -= p->cfa_in_register ? 0 : by;
	p->fp_at -= p->fp_pushed ? by : 0;
}

static void overwrite(struct place *p, uint32_t reg)
{
	if (p->cfa_in_register && p->cfa_register == reg) {
		p->lost |= !p->framed;
		p->cfa_register = NO_REG;
	}
	if (reg == REG_SP)
		p->sp_is_fp = false;
	if (p->framed)
		return;
	p->lost |= (p->ra_in_register && p->ra_register == reg) ||
		   (reg == REG_FP && !p->fp_pushed) ||
		   (reg == REG_SP && !(p->ra_in_register && p->cfa_in_register && !p->fp_pushed));
}

static void push(struct place *p, uint8_t reg)
{
	move_sp(p, -8);
	if (p->framed)
		return;
	if (p->ra_in_register && reg == p->ra_register) {
		p->ra_in_register = false;
		p->ra_at = 0;
	} else if (reg == REG_FP && !p->fp_pushed) {
		p->fp_pushed = true;
		p->fp_at = 0;
	} else if (p->fp_set && p->cfa_in_register && reg == p->cfa_register &&
		   p->fp_at == SENDER_SP_BELOW_FP && !p->ra_in_register &&
		   p->ra_at == p->fp_at + 8) {
		*p = (struct place){ .framed = true,
				     .cfa_in_register = true,
				     .cfa_register = NO_REG };
	}
}

static void pop(struct place *p, uint8_t reg)
{
	if (!p->framed && !p->ra_in_register && p->ra_at == 0 && reg != NO_REG && reg != REG_FP) {
		overwrite(p, reg);
		p->ra_in_register = true;
		p->ra_register = reg;
	} else if (!p->framed && !p->ra_in_register && p->ra_at == 0) {
		p->lost = true;
	} else if (!p->framed && reg == REG_FP && p->fp_pushed && p->fp_at == 0) {
		p->fp_pushed = p->fp_set = false;
	} else if (reg != NO_REG) {
		overwrite(p, reg);
	}
	move_sp(p, 8);
}

/* the end of the frame, with the return address there: now the caller's sp must be known */
static void leave(struct place *p, int32_t ra_at)
{
	if (!p->framed || p->cfa_register == NO_REG) {
		p->lost = true;
		return;
	}
	p->framed = p->sp_is_fp = false;
	p->ra_in_register = false;
	p->ra_at = ra_at;
}

/*
 * Where the return address is in a register, frames end so: sp = fp; fp = *sp; that register =
 * *(sp + 8). Is this one of the three?
 */
static bool restores_record(struct place *p, const struct insn *insn)
{
	bool from_sp = insn->effect == INSN_LOAD && insn->base == REG_SP;

	if (!RA_IN_REGISTER)
		return false;
	if (p->framed && insn->reg == REG_SP) {
		p->sp_is_fp =
			insn->effect == INSN_SET && insn->base == REG_FP && !insn->displacement;
		return p->sp_is_fp;
	}
	if (p->framed && p->sp_is_fp && from_sp && insn->reg == REG_FP && !insn->displacement) {
		leave(p, 8);
		return true;
	}
	if (p->framed)
		return false;
	if (p->fp_set && insn->effect == INSN_SET && insn->reg == REG_SP && insn->base == REG_FP &&
	    !insn->displacement) {
		move_sp(p, p->fp_at);
		return true;
	}
	if (p->fp_pushed && from_sp && insn->reg == REG_FP && insn->displacement == p->fp_at) {
		p->fp_pushed = p->fp_set = false;
		return true;
	}
	if (p->ra_in_register || !from_sp || insn->reg != EH_RA || insn->displacement != p->ra_at)
		return false;
	p->ra_in_register = true;
	p->ra_register = EH_RA;
	return true;
}

/*
 * A register that calls overwrite is copied to one that they keep: the copy counts from then on.
 * Only code for machines that return by register does that.
 */
static void copy(struct place *p, const struct insn *insn)
{
	if (!RA_IN_REGISTER || insn->effect != INSN_SET || insn->displacement ||
	    !(KNOWN_CALLEE_SAVED >> insn->reg & 1))
		return;
	if (p->cfa_in_register && p->cfa_register == insn->base)
		p->cfa_register = insn->reg;
	if (p->ra_in_register && p->ra_register == insn->base)
		p->ra_register = insn->reg;
}

static void set(struct place *p, const struct insn *insn)
{
	if (restores_record(p, insn))
		return;
	if (p->framed) {
		if (insn->reg == REG_FP)
			p->lost = true;
		overwrite(p, insn->reg);
		if (insn->effect == INSN_LOAD && insn->base == REG_FP &&
		    insn->displacement == -SENDER_SP_BELOW_FP)
			p->cfa_register = insn->reg;
		copy(p, insn);
		return;
	}
	if (insn->reg == REG_SP && insn->effect == INSN_SET && insn->base == REG_SP) {
		move_sp(p, insn->displacement);
	} else if (insn->reg == REG_FP && insn->effect == INSN_SET && insn->base == REG_SP &&
		   p->fp_pushed && p->fp_at == insn->displacement) {
		p->fp_set = true;
	} else {
		overwrite(p, insn->reg);
		copy(p, insn);
	}
}

/* at sp + displacement */
static void store(struct place *p, uint8_t reg, int32_t displacement)
{
	if (p->framed)
		return;
	if (p->ra_in_register && reg == p->ra_register) {
		p->ra_in_register = false;
		p->ra_at = displacement;
	} else if (RA_IN_REGISTER && reg == REG_FP && !p->fp_pushed) {
		p->fp_pushed = true;
		p->fp_at = displacement;
	} else if (p->fp_set && p->cfa_in_register && reg == p->cfa_register &&
		   displacement == p->fp_at - SENDER_SP_BELOW_FP && !p->ra_in_register &&
		   p->ra_at == p->fp_at + 8) {
		*p = (struct place){ .framed = true,
				     .cfa_in_register = true,
				     .cfa_register = NO_REG };
	}
}

static void follow(struct place *p, const struct insn *insn)
{
	switch (insn->effect) {
	case INSN_PUSH:
		push(p, insn->reg);
		break;
	case INSN_POP:
		pop(p, insn->reg);
		break;
	case INSN_LEAVE:
		leave(p, 0);
		break;
	case INSN_STORE:
		if (insn->base == REG_SP)
			store(p, insn->reg, insn->displacement);
		break;
	case INSN_SET:
	case INSN_LOAD:
		set(p, insn);
		break;
	}
	for (uint32_t reg = 0; reg < EH_NR_REGS; reg++)
		if (insn->overwritten >> reg & 1)
			overwrite(p, reg);
}

/* ---- all of them ---- */

/*
 * false: *to is known already. Ways that disagree lose it. A way that has lost it says nothing: it
 * has called the VM, and taken sp back from where it kept it.
 */
static bool meet(struct place *to, const struct place *from)
{
	struct place met = *from;

	met.reached = true;
	if (!to->reached || (to->lost && !to->disagreed && !met.lost)) {
		*to = met;
		return true;
	}
	if (to->lost || met.lost || !memcmp(to, &met, sizeof(met)))
		return false;
	if (to->framed && met.framed && !met.lost) {
		bool sp_differs = to->sp_is_fp && !met.sp_is_fp;
		bool cfa_differs =
			to->cfa_register != NO_REG && to->cfa_register != met.cfa_register;

		to->sp_is_fp &= met.sp_is_fp;
		if (cfa_differs)
			to->cfa_register = NO_REG;
		return sp_differs || cfa_differs;
	}
	to->lost = to->disagreed = true;
	return true;
}

static void reach(struct follower *f, size_t i, const struct place *from)
{
	if (i < f->code.nr && meet(&f->places[i], from))
		f->todo[f->nr_todo++] = i;
}

/* code_link() makes it an INSN_STOP, because it does not know that register. */
static bool copies_to_sp(const struct insn *insn, uint8_t *from)
{
	*from = insn->base;
	return (insn->effect == INSN_SET || (RA_IN_REGISTER && insn->effect == INSN_STOP)) &&
	       insn->reg == REG_SP && !insn->displacement;
}

/* Goes back to the caller's sp, which is aligned. */
static bool restores_sp(const struct follower *f, const struct insn *insn, struct place *p)
{
	uint8_t from;

	if (p->framed || !p->cfa_in_register || !p->ra_in_register || p->fp_pushed ||
	    (!machine_aligns_sp(f->code.bytes, f->code.size, insn->at, &from) &&
	     !copies_to_sp(insn, &from)) ||
	    from != p->cfa_register)
		return false;
	p->cfa_in_register = false;
	p->cfa_register = NO_REG;
	p->cfa_at = 0;
	return true;
}

static void pass(struct follower *f, size_t i)
{
	const struct insn *insn = &f->code.insns[i];
	struct place p = f->places[i];

	/*
	 * call_VM() calls what follows behind a jump, to have an address on the stack: the frame
	 * stays the same
	 */
	if (insn->effect == INSN_JUMP || insn->effect == INSN_BRANCH ||
	    (insn->effect == INSN_CALL && p.framed))
		reach(f, insn->target, &p);
	if (!insn_reaches_next(insn) && !(insn->effect == INSN_STOP && insn->reg == REG_SP))
		return;
	if (insn->effect == INSN_CALL && insn->target == i + 1)
		push(&p, NO_REG);
	else if (restores_sp(f, insn, &p))
		; /* done */
	else if (insn->effect == INSN_STOP)
		set(&p, insn);
	else
		follow(&p, insn);
	reach(f, i + 1, &p);
}

static void follow_from(struct follower *f, size_t i, const struct place *from)
{
	reach(f, i, from);
	while (f->nr_todo)
		pass(f, f->todo[--f->nr_todo]);
}

static void fill(struct follower *f, const struct interpreter_piece *piece)
{
	const uint8_t ra = RA_IN_REGISTER ? EH_RA : NO_REG;
	const struct place called = { .ra_in_register = RA_IN_REGISTER,
				      .ra_register = ra,
				      .cfa_register = NO_REG,
				      .cfa_at = CFA_AT_ENTRY };
	const struct place framed = { .framed = true,
				      .cfa_in_register = true,
				      .cfa_register = NO_REG };
	const struct place entered = { .cfa_in_register = true,
				       .cfa_register = piece->sender_sp,
				       .ra_in_register = RA_IN_REGISTER,
				       .ra_register = ra };
	const struct place *others = piece->is_called ? &called : &framed;

	if (piece->enters_again)
		others = &entered;
	if (piece->enters)
		follow_from(f, 0, &entered);
	for (size_t i = 0;
	     i < f->code.nr && (!piece->enters || piece->is_called || piece->enters_again); i++)
		if (!f->places[i].reached)
			follow_from(f, i, others);
}

/* ---- rules ---- */

struct eh_rule interpreter_frame_rule(void)
{
	struct eh_rule rule = {
		.kind = RULE_DEREF,
		.cfa_reg = REG_FP,
		.deref_offset = -SENDER_SP_BELOW_FP,
		.base_reg = REG_FP,
		.from_base = 1 << SAVED_RA | 1 << SAVED_FP,
	};

	memset(rule.saved, SAVED_ODD, sizeof(rule.saved));
	rule.saved[SAVED_RA] = 1;
	rule.saved[SAVED_FP] = 0;
	return rule;
}

/* what a signed byte of words can say */
static bool fits(int32_t bytes)
{
	return bytes % 8 == 0 && bytes / 8 > SAVED_ODD && bytes / 8 < SAVED_SAME;
}

/*
 * A call's rule is that of what it calls. Does it count on a register that this may have
 * overwritten?
 */
static bool is_lost_by_call(const struct place *p, const struct insn *insn)
{
	return insn->effect == INSN_CALL && !p->framed &&
	       ((p->cfa_in_register && insn->overwritten >> p->cfa_register & 1) ||
		(p->ra_in_register && insn->overwritten >> (p->ra_register & 31) & 1));
}

static struct eh_rule rule_of(const struct place *p, const struct insn *insn)
{
	struct eh_rule rule = { .kind = RULE_REG };
	bool by_call = RA_IN_REGISTER && p->ra_in_register && p->ra_register == EH_RA;

	if (p->framed && !p->lost)
		return interpreter_frame_rule();
	if (!p->reached || p->lost || is_lost_by_call(p, insn) || !fits(p->ra_at) ||
	    !fits(p->fp_at) || (p->ra_in_register && !by_call && p->fp_pushed))
		return (struct eh_rule){ .kind = RULE_NONE, .flags = RULE_FROM_CODE };
	memset(rule.saved, SAVED_ODD, sizeof(rule.saved));
	rule.cfa_reg = p->cfa_in_register ? p->cfa_register : REG_SP;
	rule.cfa_offset = p->cfa_in_register ? 0 : p->cfa_at;
	/* a method handle's last argument is gone, and lay below the caller's sp */
	rule.flags = p->cfa_in_register ? RULE_CROSSES : 0;
	rule.base_reg = by_call && !p->fp_pushed        ? 0
			: p->ra_in_register && !by_call ? p->ra_register
							: REG_SP;
	rule.from_base = by_call ? 0 : 1 << SAVED_RA;
	rule.saved[SAVED_RA] = p->ra_in_register ? SAVED_SAME : p->ra_at / 8;
	rule.saved[SAVED_FP] = SAVED_SAME;
	if (p->fp_pushed) {
		rule.from_base |= 1 << SAVED_FP;
		rule.saved[SAVED_FP] = p->fp_at / 8;
	}
	return rule;
}

int interpreter_rules(const uint8_t *code, const struct interpreter_piece *piece,
		      code_rule_fn *emit, void *arg)
{
	struct follower f = { .code = { .bytes = code + piece->start,
					.size = piece->end - piece->start } };
	int error = machine_decode(&f.code);

	if (!error) {
		code_link(&f.code);
		f.places = calloc(f.code.nr + 1, sizeof(*f.places));
		f.todo = calloc(f.code.nr * MAX_LOSSES + 1, sizeof(*f.todo));
		error = !f.places || !f.todo ? -ENOMEM : 0;
	}
	if (!error)
		fill(&f, piece);
	for (size_t i = 0; i < f.code.nr && !error; i++) {
		struct eh_rule rule = rule_of(&f.places[i], &f.code.insns[i]);

		emit(arg, piece->start + f.code.insns[i].at, &rule);
	}
	free(f.places);
	free(f.todo);
	free(f.code.insns);
	return error;
}
