// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_rule.h"

#include <string.h>

#include "table/machine.h"

struct eh_rule code_rule_at_entry(void)
{
	struct eh_rule rule = {
		.kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = CFA_AT_ENTRY, .flags = RULE_FROM_CODE,
	};

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = RA_AT_ENTRY;
	return rule;
}

bool code_rule_is_entry(const struct eh_rule *rule)
{
	return rule->kind == RULE_REG && rule->cfa_reg == REG_SP && rule->cfa_offset == CFA_AT_ENTRY &&
	       rule->saved[SAVED_RA] == RA_AT_ENTRY;
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
 * where base + displacement lies, in words from the CFA; false where that is not known or does not
 * fit rule.saved[]
 */
static bool place_of(const struct eh_rule *rule, uint32_t base, int32_t displacement, int *words)
{
	int64_t bytes = (int64_t)displacement - rule->cfa_offset;

	if (rule->kind != RULE_REG || rule->cfa_reg != base || bytes % 8 || bytes / 8 <= SAVED_ODD || bytes / 8 >= 0)
		return false;
	*words = bytes / 8;
	return true;
}

static void undo_set(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int64_t offset;

	if (reg == base && !displacement)
		return;
	lose(rule, reg);
	if (rule->kind == RULE_SUM && rule->deref_offset == SUM_BY_REG(reg)) {
		*rule = code_rule_conflict();
		return;
	}
	if (rule->cfa_reg != reg)
		return;
	rule->cfa_reg = base;
	offset = (rule->kind == RULE_DEREF ? rule->deref_offset : rule->cfa_offset) + (int64_t)displacement;
	if (rule->kind == RULE_DEREF && offset == (int16_t)offset)
		rule->deref_offset = offset;
	else if (rule->kind == RULE_REG && offset == (int32_t)offset)
		rule->cfa_offset = offset;
	else
		*rule = code_rule_conflict();
}

/* ---- a frame whose size lies in it, a multiple of the alignment and what is missing to that: qhasm's ---- */

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

static void undo_load_in_sum(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
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

static void undo_store_in_sum(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
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
	if (insn->effect == INSN_ADD && rule->kind == RULE_REG && rule->cfa_reg == REG_SP && !rule->from_base) {
		rule->kind = RULE_SUM;
		rule->deref_offset = SUM_BY_REG(insn->base);
	} else if (insn->effect == INSN_SUB && rule->kind == RULE_SUM && rule->deref_offset == SUM_BY_REG(insn->base)) {
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
	int i = saved_index(reg), words;

	if (rule->kind == RULE_SUM && reg != REG_SP) {
		undo_load_in_sum(rule, reg, base, displacement);
		return;
	}
	if (i >= 0 && rule->saved[i] == SAVED_SAME)
		rule->saved[i] = reg != rule->cfa_reg && place_of(rule, base, displacement, &words) ? words :
				 SAVED_ODD;
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
	int words;

	if (rule->kind == RULE_SUM) {
		undo_store_in_sum(rule, reg, base, displacement);
		return;
	}
	if (rule->kind == RULE_DEREF && rule->cfa_reg == base && rule->deref_offset == displacement) {
		if (reg == NO_REG) {
			*rule = code_rule_conflict();
			return;
		}
		rule->kind = RULE_REG;
		rule->cfa_reg = reg;
		rule->deref_offset = 0;
		return;
	}
	if (!place_of(rule, base, displacement, &words))
		return;
	for (int i = 0; i < NR_SAVED; i++)
		if (rule->saved[i] == words)
			rule->saved[i] = saved_index(reg) == i ? SAVED_SAME : SAVED_ODD;
}

static void undo_overwriting(struct eh_rule *rule, uint32_t registers)
{
	if (registers >> rule->cfa_reg & 1 || (code_rule_is_by_reg(rule) && registers >> (rule->deref_offset - SUM_BY_REG(0)) & 1)) {
		*rule = code_rule_conflict();
		return;
	}
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
		rule->saved[i] = SAVED_ODD;
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
	       (rule->saved[SAVED_RA] != SAVED_SAME && rule->cfa_offset + 8 * rule->saved[SAVED_RA] < 0);
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
	if (rule->saved[SAVED_RA] == SAVED_ODD || (rule->kind == RULE_REG && rule->cfa_reg == REG_SP && is_below_sp(rule)))
		*rule = code_rule_conflict();
}

/* ---- forwards ---- */

#define MAX_FRAME_BYTES (1 << 30)

static void follow_store(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int words, saved = saved_index(reg);

	if (!place_of(rule, base, displacement, &words))
		return;
	for (int i = 0; i < NR_SAVED; i++)
		if (rule->saved[i] == words)
			rule->saved[i] = SAVED_ODD;
	if (saved >= 0 && rule->saved[saved] == SAVED_SAME)
		rule->saved[saved] = words;
}

static bool follow(struct eh_rule *rule, const struct insn *insn)
{
	int i = saved_index(insn->reg);

	switch (insn->effect) {
	case INSN_PUSH:
		rule->cfa_offset += 8;
		if (i >= 0 && rule->saved[i] == SAVED_SAME && rule->cfa_offset / 8 < -SAVED_ODD)
			rule->saved[i] = -(rule->cfa_offset / 8);
		return true;
	case INSN_SET:
	case INSN_LOAD:
		if (insn->reg == REG_SP &&
		    (insn->effect == INSN_LOAD || insn->base != REG_SP ||
		     __builtin_sub_overflow(rule->cfa_offset, insn->displacement, &rule->cfa_offset)))
			return false;
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
	return follow(rule, insn) && rule->saved[SAVED_RA] != SAVED_ODD && !is_below_sp(rule);
}

