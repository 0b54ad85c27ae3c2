// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/jit_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table/code_insns.h"
#include "table/machine.h"

/* where a prologue saves the frame pointer, below the return address: in bytes below the CFA */
#define FP_BELOW_CFA 16

enum fp {
	FP_CALLERS,
	FP_FRAME, /* CFA - FP_BELOW_CFA */
	FP_OTHER,
};

/* where the return address is */
enum ra {
	RA_SAVED,   /* where calls or prologues save it: right below the CFA */
	RA_BY_CALL, /* where calls put it into a register: still there */
	RA_LOST,
};
#define RA_BELOW_CFA 8

/*
 * HotSpot's String.indexOf() copies short strings to the stack where reading 16 bytes of them could
 * cross a page. It keeps sp in a register, takes 16 bytes or not, pushes the register, and pops sp
 * at the end. place.copy: the register; COPY_AT_SP: it lies where sp points to; or NO_REG
 */
#define COPY_AT_SP REG_SP

/* what is known of the place before an instruction */
struct place {
	bool reached;
	bool guessed; /* nothing leads here from an entry */
	bool begins;  /* nothing leads here at all */
	bool lost;    /* no rule */
	bool saved;   /* the caller's frame pointer is at CFA - FP_BELOW_CFA */
	bool sp_lost;
	uint8_t fp;    /* enum fp */
	uint8_t ra;    /* enum ra */
	uint8_t copy;  /* where sp's value in the whole frame is kept */
	int32_t depth; /* CFA less sp, unless sp_lost */
	/* it was reached first from behind this call: the instruction's number + 1 */
	uint32_t by_call;
};

#define MAX_LOSSES 8 /* and more than meet() can take from a place */

struct follower {
	const struct jit_code *jit;
	struct code code;
	struct place *places;
	/* numbers of instructions; each comes up once, and once for each thing that it loses */
	uint32_t *todo;
	size_t nr_todo;
	bool *no_return; /* [number]: it is a call that does not return */
	bool again;      /* there are more of these than was known */
};

/* ---- one instruction ---- */

static void move_sp(struct place *p, int64_t by)
{
	int64_t depth = p->depth - by;

	p->sp_lost |= depth < CFA_AT_ENTRY || depth > 1 << 26;
	if (!p->sp_lost)
		p->depth = depth;
}

static void set_sp(struct place *p, const struct insn *insn)
{
	if (insn->effect == INSN_SET && insn->base == REG_SP)
		move_sp(p, insn->displacement);
	else if (insn->effect == INSN_SET && insn->base == REG_FP && p->fp == FP_FRAME) {
		p->sp_lost = false;
		p->depth = FP_BELOW_CFA;
		move_sp(p, insn->displacement);
	} else {
		p->sp_lost = true;
	}
}

/* Does the instruction name the place so many bytes below the CFA? */
static bool is_below_cfa(const struct place *p, const struct insn *insn, int32_t bytes)
{
	return insn->base == REG_SP && !p->sp_lost && p->depth - insn->displacement == bytes;
}

static void set_fp(struct place *p, const struct insn *insn)
{
	if (insn->effect == INSN_SET && is_below_cfa(p, insn, FP_BELOW_CFA))
		p->fp = FP_FRAME;
	else if (insn->effect == INSN_LOAD && p->saved && is_below_cfa(p, insn, FP_BELOW_CFA))
		p->fp = FP_CALLERS;
	else
		p->fp = FP_OTHER;
}

/* The register in which calls put the return address gets another value. */
static void set_ra(struct place *p, const struct insn *insn)
{
	if (insn->effect == INSN_LOAD && p->ra == RA_SAVED && is_below_cfa(p, insn, RA_BELOW_CFA))
		p->ra = RA_BY_CALL;
	else if (p->ra == RA_BY_CALL)
		p->ra = RA_LOST;
}

static void store(struct place *p, const struct insn *insn)
{
	if (insn->reg == REG_FP && p->fp == FP_CALLERS && is_below_cfa(p, insn, FP_BELOW_CFA))
		p->saved = true;
	if (insn->reg == EH_RA && p->ra == RA_BY_CALL && is_below_cfa(p, insn, RA_BELOW_CFA))
		p->ra = RA_SAVED;
}

static void push(struct place *p, uint8_t reg)
{
	move_sp(p, -8);
	if (reg == REG_FP && p->fp == FP_CALLERS && !p->sp_lost && p->depth == FP_BELOW_CFA)
		p->saved = true;
}

static void pop_sp(struct place *p, uint32_t frame_bytes)
{
	p->sp_lost = p->copy != COPY_AT_SP;
	p->depth = frame_bytes;
}

static void pop(struct place *p, uint8_t reg)
{
	bool callers = p->saved && !p->sp_lost && p->depth == FP_BELOW_CFA;

	if (reg == REG_FP)
		p->fp = callers ? FP_CALLERS : FP_OTHER;
	if (callers)
		p->saved = false;
	move_sp(p, 8);
}

/* where sp points to the saved frame pointer, the frame pointer points there, too */
static void leave(struct place *p)
{
	p->sp_lost = p->fp != FP_FRAME && !(p->saved && !p->sp_lost && p->depth == FP_BELOW_CFA);
	p->depth = FP_BELOW_CFA;
	pop(p, REG_FP);
}

static bool overwrites(const struct insn *insn, uint8_t reg)
{
	return insn->overwritten >> reg & 1 || (insn_sets_reg(insn) && insn->reg == reg) ||
	       (reg == REG_SP && insn->effect >= INSN_PUSH);
}

/* the copy's place has another value from here on, or may have: what is called keeps no register */
static bool ends_copy(const struct place *p, const struct insn *insn)
{
	bool stores = insn->effect == INSN_STORE && insn->base == REG_SP &&
		      insn->displacement > -8 && insn->displacement < 8;

	return p->copy != NO_REG && (overwrites(insn, p->copy) || insn->effect == INSN_CALL ||
				     (p->copy == COPY_AT_SP && stores));
}

static void follow_copy(struct place *p, const struct insn *insn, uint32_t frame_bytes)
{
	if (insn->effect == INSN_SET && insn->base == REG_SP && insn->reg != REG_SP &&
	    insn->reg != REG_FP && !insn->displacement && !p->sp_lost &&
	    p->depth == (int32_t)frame_bytes)
		p->copy = insn->reg;
	else if (insn->effect == INSN_PUSH && insn->reg == p->copy && p->copy != NO_REG)
		p->copy = COPY_AT_SP;
	else if (ends_copy(p, insn))
		p->copy = NO_REG;
}

/* no rule finds the CFA or the return address */
static bool is_lost(const struct place *p)
{
	if (p->ra == RA_LOST)
		return true;
	return p->sp_lost && p->fp != FP_FRAME && p->copy == NO_REG;
}

static void follow(struct place *p, const struct insn *insn, uint32_t frame_bytes)
{
	switch (insn->effect) {
	case INSN_PUSH:
		push(p, insn->reg);
		break;
	case INSN_POP:
		if (insn->reg == REG_SP)
			pop_sp(p, frame_bytes);
		else
			pop(p, insn->reg);
		break;
	case INSN_LEAVE:
		leave(p);
		break;
	case INSN_STORE:
		store(p, insn);
		break;
	case INSN_SET:
	case INSN_LOAD:
		if (insn->reg == REG_SP)
			set_sp(p, insn);
		else if (insn->reg == REG_FP)
			set_fp(p, insn);
		else if (RA_IN_REGISTER && insn->reg == EH_RA)
			set_ra(p, insn);
		break;
	}
	if (insn->overwritten >> REG_SP & 1)
		p->sp_lost = true;
	if (insn->overwritten >> REG_FP & 1)
		p->fp = FP_OTHER;
	if (RA_IN_REGISTER && insn->overwritten >> (EH_RA % EH_NR_REGS) & 1)
		set_ra(p, insn);
	follow_copy(p, insn, frame_bytes);
	p->lost = is_lost(p);
}

/* ---- all of them ---- */

/* what both ways to a place agree on; false: *to is that already */
static bool meet(struct place *to, const struct place *from)
{
	struct place met = *to;

	met.lost |= from->lost;
	met.saved &= from->saved;
	met.sp_lost |= from->sp_lost || (!to->sp_lost && from->depth != to->depth);
	if (met.fp != from->fp)
		met.fp = FP_OTHER;
	if (met.ra != from->ra)
		met.ra = RA_LOST;
	if (met.copy != from->copy)
		met.copy = NO_REG;
	met.lost |= is_lost(&met);
	if (met.lost == to->lost && met.saved == to->saved && met.sp_lost == to->sp_lost &&
	    met.fp == to->fp && met.ra == to->ra && met.copy == to->copy)
		return false;
	*to = met;
	return true;
}

/*
 * Do the ways disagree because one of them, from behind a call, is none? That is known the next
 * time then.
 */
static bool is_no_return(struct follower *f, const struct place *to, const struct place *from)
{
	if (to->depth == from->depth || to->sp_lost || from->sp_lost ||
	    !to->by_call == !from->by_call)
		return false;
	f->no_return[(to->by_call ? to->by_call : from->by_call) - 1] = true;
	f->again = true;
	return true;
}

/* by_call: 0, or number + 1 of the call that *from is behind */
static void reach(struct follower *f, size_t i, struct place from, uint32_t by_call)
{
	struct place *to = &f->places[i];

	if (i >= f->code.nr)
		return;
	from.reached = true;
	from.by_call = by_call;
	from.begins = false;
	if (!to->reached)
		*to = from;
	else if ((from.guessed && !to->guessed) || is_no_return(f, to, &from) || !meet(to, &from))
		return;
	f->todo[f->nr_todo++] = i;
}

/* what a call of the next instruction does: code learns so where it is */
static const struct insn pushes_pc = { .effect = INSN_PUSH, .reg = NO_REG, .base = NO_REG };

static void pass(struct follower *f, size_t i)
{
	const struct insn *insn = &f->code.insns[i];
	struct place p = f->places[i];

	if (insn->effect == INSN_JUMP || insn->effect == INSN_BRANCH)
		reach(f, insn->target, p, 0);
	if (!insn_reaches_next(insn)) {
		p.lost = p.sp_lost = true;
		/* it goes on, on another stack */
		if (insn->effect == INSN_STOP && insn->reg == REG_SP)
			reach(f, i + 1, p, 0);
		return;
	}
	if (insn->effect == INSN_CALL && f->no_return[i])
		return;
	if (insn->effect == INSN_CALL && insn->target == i + 1)
		insn = &pushes_pc;
	follow(&p, insn, f->jit->frame_bytes);
	reach(f, i + 1, p, insn->effect == INSN_CALL ? i + 1 : 0);
}

static void follow_all(struct follower *f)
{
	while (f->nr_todo)
		pass(f, f->todo[--f->nr_todo]);
}

static struct place whole_frame(const struct jit_code *jit)
{
	return (struct place){
		.guessed = true,
		.depth = jit->frame_bytes,
		.fp = FP_OTHER,
		.saved = true,
		.copy = NO_REG,
	};
}

static bool calls_elsewhere(const struct insn *insn)
{
	return insn->effect == INSN_CALL && insn->target == NO_TARGET;
}

#define MAX_TRIAL 64 /* instructions */

/*
 * Can code with the whole frame begin here? HotSpot's intrinsics have blocks that nothing leads to
 * on this processor. Some lie between a push and the pop that belongs to it: then they seem to pop
 * what is none of the frame's.
 */
static bool may_begin(const struct follower *f, size_t i)
{
	struct place p = whole_frame(f->jit);
	int32_t whole = p.depth;

	for (int n = 0; n < MAX_TRIAL && i < f->code.nr && !p.sp_lost && p.depth >= whole; n++) {
		const struct insn *insn = &f->code.insns[i];

		if (insn->effect != INSN_JUMP && !insn_reaches_next(insn))
			return true;
		if (insn->effect != INSN_JUMP)
			follow(&p, insn, whole);
		i = insn->effect == INSN_JUMP ? insn->target : i + 1;
	}
	return p.sp_lost || p.depth >= whole || p.depth <= FP_BELOW_CFA;
}

static void begin(struct follower *f, size_t i)
{
	if (f->places[i].reached)
		return;
	reach(f, i, whole_frame(f->jit), 0);
	f->places[i].begins = true;
	follow_all(f);
}

/* Is the frame whole, as the compiler says it is, at this place? */
static bool is_whole(const struct follower *f, const struct place *p)
{
	return p->sp_lost ? p->fp == FP_FRAME : p->depth == (int32_t)f->jit->frame_bytes;
}

/*
 * Code of which it is not said where its frame is whole calls other code with the whole frame. Does
 * it, as it was followed from its entry? Else that is no function: HotSpot jumps there, without a
 * return address or with the frame of what jumps there.
 */
static bool is_called(const struct follower *f)
{
	bool found = false;

	for (size_t i = 0; i < f->code.nr; i++) {
		const struct place *p = &f->places[i];

		if (!calls_elsewhere(&f->code.insns[i]) || !p->reached || p->lost)
			continue;
		if (!is_whole(f, p))
			return false;
		found = true;
	}
	return found;
}

static void clear(struct follower *f)
{
	memset(f->places, 0, f->code.nr * sizeof(*f->places));
}

/*
 * From the entries; then from whatever was not reached, with the whole frame. false: that is not
 * what the compiler says
 */
static bool fill(struct follower *f)
{
	const struct jit_code *jit = f->jit;
	const struct place entered = { .depth = CFA_AT_ENTRY,
				       .fp = FP_CALLERS,
				       .ra = RA_IN_REGISTER ? RA_BY_CALL : RA_SAVED,
				       .copy = NO_REG };
	size_t first = code_insn_at(&f->code, jit->complete);
	const struct place *complete = &f->places[first];

	for (uint32_t i = 0; i < jit->nr_entries; i++) {
		reach(f, code_insn_at(&f->code, jit->entries[i]), entered, 0);
		follow_all(f);
	}
	if (!jit->frame_bytes)
		return true;
	if (jit->complete == UINT32_MAX) {
		if (!is_called(f))
			clear(f);
		for (size_t i = 0; i < f->code.nr; i++)
			if (calls_elsewhere(&f->code.insns[i]))
				begin(f, i);
		return true;
	}
	if (first < f->code.nr && complete->reached &&
	    (complete->sp_lost || complete->depth != (int32_t)jit->frame_bytes))
		return false;
	for (size_t i = first; i < f->code.nr; i++)
		if (!f->places[i].reached && may_begin(f, i))
			begin(f, i);
	return true;
}

#define MAX_ROUNDS 8

/* fill(), until it is known which calls do not return */
static bool fill_again(struct follower *f)
{
	for (int round = 0; round < MAX_ROUNDS; round++) {
		clear(f);
		f->again = false;
		if (!fill(f) && !f->again)
			return false;
		if (!f->again)
			return true;
	}
	return false;
}

/*
 * What is known of instruction i's place. Whatever the ways there seem to say, code that calls
 * other code has its whole frame: the compiler says how large it is for that very purpose.
 */
static struct place place_of(const struct follower *f, size_t i)
{
	const struct insn *insn = &f->code.insns[i];
	struct place p = f->places[i];

	if (calls_elsewhere(insn) && f->jit->frame_bytes &&
	    (insn->at >= f->jit->complete || f->jit->complete == UINT32_MAX) &&
	    (!p.reached || p.lost))
		p = whole_frame(f->jit), p.reached = true;
	return p;
}

static struct eh_rule rule_of(const struct place *p, uint32_t frame_bytes)
{
	struct eh_rule rule = { .kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = p->depth };

	if (!p->reached || p->lost)
		return (struct eh_rule){ .kind = RULE_NONE, .flags = RULE_FROM_CODE };
	if (p->sp_lost && p->fp == FP_FRAME) {
		rule.cfa_reg = REG_FP;
		rule.cfa_offset = FP_BELOW_CFA;
	} else if (p->sp_lost) {
		rule.kind = p->copy == COPY_AT_SP ? RULE_DEREF : RULE_REG;
		rule.cfa_reg = p->copy;
		rule.cfa_offset = frame_bytes;
	}
	memset(rule.saved, SAVED_ODD, sizeof(rule.saved));
	rule.saved[SAVED_RA] = p->ra == RA_BY_CALL ? SAVED_SAME : -RA_BELOW_CFA / 8;
	if (p->saved && (p->sp_lost || p->depth >= FP_BELOW_CFA))
		rule.saved[SAVED_FP] = -FP_BELOW_CFA / 8;
	else if (p->fp == FP_CALLERS)
		rule.saved[SAVED_FP] = SAVED_SAME;
	return rule;
}

/*
 * A frame that is to be deoptimised returns to a handler, to which nothing else leads. A return
 * address is looked up before it: there, the last byte of an instruction that is no call has the
 * handler's rule.
 */
static bool returns_behind(const struct follower *f, size_t i)
{
	const struct insn *insn = &f->code.insns[i];

	return i + 1 < f->code.nr && f->places[i + 1].begins && insn->effect != INSN_CALL &&
	       insn[1].at > insn->at + 1;
}

int jit_rules(const struct jit_code *jit, code_rule_fn *emit, void *arg)
{
	struct follower f = {
		.jit = jit, .code = { .bytes = jit->bytes, .size = jit->size, .vaddr = jit->vaddr }
	};
	int error = machine_decode(&f.code);

	if (!error) {
		code_link(&f.code);
		f.places = calloc(f.code.nr + 1, sizeof(*f.places));
		f.todo = calloc(f.code.nr * MAX_LOSSES + 1, sizeof(*f.todo));
		f.no_return = calloc(f.code.nr + 1, sizeof(*f.no_return));
		error = f.places && f.todo && f.no_return ? 0 : -ENOMEM;
	}
	if (!error && !fill_again(&f))
		error = -EBADMSG;
	for (size_t i = 0; i < f.code.nr && !error; i++) {
		struct place place = place_of(&f, i);
		struct eh_rule rule = rule_of(&place, jit->frame_bytes);

		emit(arg, f.code.insns[i].at, &rule);
		if (returns_behind(&f, i)) {
			rule = rule_of(&f.places[i + 1], jit->frame_bytes);
			emit(arg, f.code.insns[i + 1].at - 1, &rule);
		}
	}
	free(f.places);
	free(f.todo);
	free(f.no_return);
	free(f.code.insns);
	return error;
}
