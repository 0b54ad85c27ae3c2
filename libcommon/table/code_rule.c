// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_rule.h"

#include <string.h>

#include "table/machine.h"

struct eh_rule code_rule_at_entry(void)
{
	struct eh_rule rule = {
		.kind = RULE_REG,
		.cfa_reg = REG_SP,
		.cfa_offset = CFA_AT_ENTRY,
		.flags = RULE_FROM_CODE,
	};

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = RA_AT_ENTRY;
	return rule;
}

bool code_rule_is_entry(const struct eh_rule *rule)
{
	return rule->kind == RULE_REG && rule->cfa_reg == REG_SP &&
	       rule->cfa_offset == CFA_AT_ENTRY && rule->saved[SAVED_RA] == RA_AT_ENTRY;
}

/* ---- backwards ---- */

/*
 * The register is overwritten: where the caller's value lies before that is not known, unless it
 * was saved elsewhere.
 */
static void lose(struct eh_rule *rule, uint32_t reg)
{
	int i = saved_index(reg);

	if (i >= 0 && rule->saved[i] == SAVED_SAME)
		rule->saved[i] = SAVED_ODD;
}

/*
 * where a register is saved, as rule.saved[] has it: in words from the CFA, or from the rule's base
 * register if that is further
 */
struct place {
	int words;
	bool by_base;
};

static bool fits(int64_t bytes, bool by_base)
{
	return bytes % 8 == 0 && (by_base ? bytes >= 0 && bytes / 8 < SAVED_SAME
					  : bytes < 0 && bytes / 8 > SAVED_ODD);
}

/* where base + displacement lies; false where that is not known or does not fit rule.saved[] */
static bool place_of(const struct eh_rule *rule, uint32_t base, int32_t displacement,
		     struct place *place)
{
	int64_t from_cfa = (int64_t)displacement - rule->cfa_offset;

	if (rule->kind != RULE_REG || rule->cfa_reg != base || from_cfa >= 0)
		return false;
	place->by_base = !fits(from_cfa, false);
	place->words = (place->by_base ? displacement : from_cfa) / 8;
	return !place->by_base ||
	       (fits(displacement, true) && (!rule->from_base || rule->base_reg == base));
}

static bool is_by_base(const struct eh_rule *rule, int i)
{
	return rule->from_base >> i & 1;
}

static bool is_saved_at(const struct eh_rule *rule, int i, const struct place *place)
{
	return rule->saved[i] == place->words && is_by_base(rule, i) == place->by_base;
}

static void save(struct eh_rule *rule, int i, const struct place *place, uint32_t base)
{
	rule->saved[i] = place->words;
	if (place->by_base) {
		rule->from_base |= 1 << i;
		rule->base_reg = base;
	}
}

static void forget_place(struct eh_rule *rule, int i, int saved)
{
	code_rule_set_odd(rule, i);
	rule->saved[i] = saved;
}

/* Places counted from this register are counted from base, which lies so many bytes below. */
static void move_places(struct eh_rule *rule, uint32_t reg, uint32_t base, int64_t bytes)
{
	if (!rule->from_base || rule->base_reg != reg)
		return;
	for (int i = 0; i < NR_SAVED; i++) {
		if (!is_by_base(rule, i))
			continue;
		if (base != NO_REG && fits(8 * rule->saved[i] + bytes, true))
			rule->saved[i] += bytes / 8;
		else
			code_rule_set_odd(rule, i);
	}
	if (rule->from_base)
		rule->base_reg = base;
}

/* Places that are near enough to the CFA are counted from there. */
static void settle_places(struct eh_rule *rule)
{
	if (!rule->from_base || rule->kind != RULE_REG || rule->cfa_reg != rule->base_reg)
		return;
	for (int i = 0; i < NR_SAVED; i++) {
		int64_t from_cfa = 8 * (int64_t)rule->saved[i] - rule->cfa_offset;

		if (is_by_base(rule, i) && fits(from_cfa, false))
			forget_place(rule, i, from_cfa / 8);
	}
}

/* The register gets a value from elsewhere: where it points before that is not known. */
static void lose_base(struct eh_rule *rule, uint32_t reg)
{
	for (int i = 0; i < NR_SAVED && rule->from_base && rule->base_reg == reg; i++)
		if (is_by_base(rule, i))
			code_rule_set_odd(rule, i);
}

static void undo_set(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int64_t offset;

	if (reg == base && !displacement)
		return;
	lose(rule, reg);
	move_places(rule, reg, base, displacement);
	if (rule->kind == RULE_SUM && rule->deref_offset == SUM_BY_REG(reg)) {
		*rule = code_rule_conflict();
		return;
	}
	if (rule->cfa_reg != reg)
		return;
	rule->cfa_reg = base;
	offset = (rule->kind == RULE_DEREF ? rule->deref_offset : rule->cfa_offset) +
		 (int64_t)displacement;
	if (base == NO_REG)
		*rule = code_rule_conflict();
	else if (rule->kind == RULE_DEREF && offset == (int16_t)offset)
		rule->deref_offset = offset;
	else if (rule->kind == RULE_REG && offset == (int32_t)offset)
		rule->cfa_offset = offset;
	else
		*rule = code_rule_conflict();
}

/*
 * ---- a frame whose size lies in it, a multiple of the alignment and what is missing to that:
 * qhasm's ----
 */

/* where a register is saved, counted from sp */
static void save_by_sp(struct eh_rule *rule, int i, int32_t displacement)
{
	if (displacement % 8 || displacement < 0 || displacement / 8 >= SAVED_SAME) {
		code_rule_set_odd(rule, i);
		return;
	}
	rule->saved[i] = displacement / 8;
	rule->from_base |= 1 << i;
	rule->base_reg = REG_SP;
}

static void undo_load_in_sum(struct eh_rule *rule, uint32_t reg, uint32_t base,
			     int32_t displacement)
{
	int i = saved_index(reg);

	if (i >= 0 && rule->saved[i] == SAVED_SAME && base == REG_SP)
		save_by_sp(rule, i, displacement);
	else
		lose(rule, reg);
	if (rule->deref_offset != SUM_BY_REG(reg))
		return;
	if (base == REG_SP && displacement >= 0 && displacement <= INT16_MAX)
		rule->deref_offset = displacement;
	else
		*rule = code_rule_conflict();
}

static void undo_store_in_sum(struct eh_rule *rule, uint32_t reg, uint32_t base,
			      int32_t displacement)
{
	if (base != REG_SP)
		return;
	if (rule->deref_offset == displacement) {
		if (reg == NO_REG)
			*rule = code_rule_conflict();
		else
			rule->deref_offset = SUM_BY_REG(reg);
		return;
	}
	for (int i = 0; i < SAVED_RA; i++) {
		if (!(rule->from_base >> i & 1) || rule->saved[i] * 8 != displacement)
			continue;
		code_rule_set_odd(rule, i);
		if (saved_index(reg) == i)
			rule->saved[i] = SAVED_SAME;
	}
}

/* sp += base, or sp -= base */
static void undo_sum(struct eh_rule *rule, const struct insn *insn)
{
	if (insn->effect == INSN_ADD && rule->kind == RULE_REG && rule->cfa_reg == REG_SP &&
	    !rule->from_base) {
		rule->kind = RULE_SUM;
		rule->deref_offset = SUM_BY_REG(insn->base);
	} else if (insn->effect == INSN_SUB && rule->kind == RULE_SUM &&
		   rule->deref_offset == SUM_BY_REG(insn->base)) {
		rule->kind = RULE_REG;
		rule->deref_offset = 0;
		for (int i = 0; i < SAVED_RA; i++)
			if (rule->from_base >> i & 1)
				code_rule_set_odd(rule, i);
	} else if (rule->cfa_reg == REG_SP) {
		*rule = code_rule_conflict();
	}
}

/* ---- all frames ---- */

static void undo_load(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int i = saved_index(reg);
	struct place place;

	if (rule->kind == RULE_SUM && reg != REG_SP) {
		undo_load_in_sum(rule, reg, base, displacement);
		return;
	}
	lose_base(rule, reg);
	if (i >= 0 && rule->saved[i] == SAVED_SAME) {
		if (reg != rule->cfa_reg && place_of(rule, base, displacement, &place))
			save(rule, i, &place, base);
		else
			rule->saved[i] = SAVED_ODD;
	}
	if (rule->cfa_reg != reg)
		return;
	if (rule->kind != RULE_REG || displacement != (int16_t)displacement) {
		*rule = code_rule_conflict();
		return;
	}
	rule->kind = RULE_DEREF;
	rule->cfa_reg = base;
	rule->deref_offset = displacement;
}

static void undo_store(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	struct place place;

	if (rule->kind == RULE_SUM) {
		undo_store_in_sum(rule, reg, base, displacement);
		return;
	}
	if (rule->kind == RULE_DEREF && rule->cfa_reg == base &&
	    rule->deref_offset == displacement) {
		if (reg == NO_REG) {
			*rule = code_rule_conflict();
			return;
		}
		rule->kind = RULE_REG;
		rule->cfa_reg = reg;
		rule->deref_offset = 0;
		return;
	}
	if (!place_of(rule, base, displacement, &place))
		return;
	for (int i = 0; i < NR_SAVED; i++)
		if (is_saved_at(rule, i, &place))
			forget_place(rule, i, saved_index(reg) == i ? SAVED_SAME : SAVED_ODD);
}

static void undo_overwriting(struct eh_rule *rule, uint32_t registers)
{
	if (registers >> rule->cfa_reg & 1 ||
	    (code_rule_is_by_reg(rule) && registers >> (rule->deref_offset - SUM_BY_REG(0)) & 1)) {
		*rule = code_rule_conflict();
		return;
	}
	if (rule->from_base && registers >> rule->base_reg & 1)
		lose_base(rule, rule->base_reg);
	for (uint32_t reg = 0; reg < EH_NR_REGS; reg++)
		if (registers >> reg & 1)
			lose(rule, reg);
}

static void undo_push(struct eh_rule *rule, uint32_t reg)
{
	int i = saved_index(reg);

	/*
	 * After it, the rule says that the register is saved, maybe by this very push; but with a
	 * CFA that is not counted from sp, the place that is pushed to is not known, so whether it
	 * is saved before this is not known either.
	 */
	if (i >= 0 && rule->cfa_reg != REG_SP && rule->saved[i] != SAVED_SAME)
		code_rule_set_odd(rule, i);
	undo_store(rule, reg, REG_SP, 0);
	undo_set(rule, REG_SP, REG_SP, -8);
}

static void undo_pop(struct eh_rule *rule, uint32_t reg)
{
	if (reg != REG_SP)
		undo_set(rule, REG_SP, REG_SP, 8);
	if (reg != NO_REG)
		undo_load(rule, reg, REG_SP, 0);
}

/* Nothing of the caller's can lie below the stack pointer. */
static bool is_below_sp(const struct eh_rule *rule)
{
	return rule->cfa_offset < CFA_AT_ENTRY ||
	       (rule->saved[SAVED_RA] != SAVED_SAME && !is_by_base(rule, SAVED_RA) &&
		rule->cfa_offset + 8 * rule->saved[SAVED_RA] < 0);
}

void code_rule_undo(struct eh_rule *rule, const struct insn *insn)
{
	if (insn->effect == INSN_ADD || insn->effect == INSN_SUB) {
		undo_sum(rule, insn);
		return;
	}
	if (insn->overwritten)
		undo_overwriting(rule, insn->overwritten);
	switch (insn->effect) {
	case INSN_SET:
		undo_set(rule, insn->reg, insn->base, insn->displacement);
		break;
	case INSN_LOAD:
		undo_load(rule, insn->reg, insn->base, insn->displacement);
		break;
	case INSN_STORE:
		undo_store(rule, insn->reg, insn->base, insn->displacement);
		break;
	case INSN_PUSH:
		undo_push(rule, insn->reg);
		break;
	case INSN_POP:
		undo_pop(rule, insn->reg);
		break;
	case INSN_LEAVE:
		undo_pop(rule, insn->reg);
		undo_set(rule, REG_SP, insn->reg, 0);
		break;
	}
	settle_places(rule);
	if (rule->saved[SAVED_RA] == SAVED_ODD ||
	    (rule->kind == RULE_REG && rule->cfa_reg == REG_SP && is_below_sp(rule)))
		*rule = code_rule_conflict();
}

/* ---- forwards ---- */

#define MAX_FRAME_BYTES (1 << 30)

static void follow_store(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int saved = saved_index(reg);
	struct place place;

	if (!place_of(rule, base, displacement, &place))
		return;
	for (int i = 0; i < NR_SAVED; i++)
		if (is_saved_at(rule, i, &place))
			code_rule_set_odd(rule, i);
	if (saved >= 0 && rule->saved[saved] == SAVED_SAME)
		save(rule, saved, &place, base);
}

static bool follow(struct eh_rule *rule, const struct insn *insn)
{
	int i = saved_index(insn->reg);

	switch (insn->effect) {
	case INSN_PUSH:
		rule->cfa_offset += 8;
		move_places(rule, REG_SP, REG_SP, 8);
		if (i >= 0 && rule->saved[i] == SAVED_SAME && rule->cfa_offset / 8 < -SAVED_ODD)
			rule->saved[i] = -(rule->cfa_offset / 8);
		return true;
	case INSN_SET:
	case INSN_LOAD:
		if (insn->reg == REG_SP &&
		    (insn->effect == INSN_LOAD || insn->base != REG_SP ||
		     __builtin_sub_overflow(rule->cfa_offset, insn->displacement,
					    &rule->cfa_offset)))
			return false;
		if (insn->reg == REG_SP)
			move_places(rule, REG_SP, REG_SP, -(int64_t)insn->displacement);
		lose(rule, insn->reg);
		return rule->cfa_offset >= CFA_AT_ENTRY && rule->cfa_offset <= MAX_FRAME_BYTES;
	case INSN_STORE:
		follow_store(rule, insn->reg, insn->base, insn->displacement);
		/* fallthrough */
	case INSN_OTHER:
	case INSN_BRANCH:
	case INSN_CALL:
		for (uint32_t reg = 0; reg < EH_NR_REGS; reg++)
			if (insn->overwritten >> reg & 1)
				lose(rule, reg);
		return !(insn->overwritten >> REG_SP & 1);
	default:
		return false;
	}
}

bool code_rule_follow(struct eh_rule *rule, const struct insn *insn)
{
	if (!follow(rule, insn))
		return false;
	settle_places(rule);
	return rule->saved[SAVED_RA] != SAVED_ODD && !is_below_sp(rule);
}
