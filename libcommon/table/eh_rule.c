// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/eh_rule.h"

#include <string.h>

#include "dwarf/registers.h"
#include "table/machine.h"

void eh_rule_set_cfa_unsupported(struct eh_rule *rule)
{
	rule->kind = RULE_UNSUPPORTED;
	rule->cfa_reg = 0;
	rule->cfa_offset = 0;
	if (!IS_BELOW_CFA(rule->base_reg))
		rule->deref_offset = 0;
}

void eh_rule_set_cfa(struct eh_rule *rule, uint64_t reg, int64_t offset)
{
	eh_rule_set_cfa_unsupported(rule);
	if (reg >= EH_NR_REGS || offset != (int32_t)offset)
		return;
	rule->kind = RULE_REG;
	rule->cfa_reg = reg;
	rule->cfa_offset = offset;
}

bool eh_rule_read_breg(struct cursor *c, uint8_t *reg, int64_t *offset)
{
	uint8_t op = cursor_u8(c);

	*reg = op - DW_OP_breg0;
	*offset = cursor_sleb128(c);
	return !c->bad && op >= DW_OP_breg0 && *reg < EH_NR_REGS;
}

bool eh_rule_read_plus(struct cursor *c, int64_t *plus)
{
	*plus = 0;
	if (cursor_left(c)) {
		if (cursor_u8(c) != DW_OP_plus_uconst)
			return false;
		*plus = cursor_uleb128(c);
	}
	return !c->bad && !cursor_left(c) && *plus >= 0 && *plus <= INT32_MAX;
}

/*
 * the b of *(reg + a) + b: nothing, a constant that is added (DW_OP_plus_uconst), or one that is
 * pushed and added (SBCL's assembly)
 */
static bool read_plus(struct cursor *c, int64_t *plus)
{
	struct cursor pushed = *c;
	uint8_t op = cursor_u8(&pushed);

	if (op < DW_OP_lit0 || op > DW_OP_lit31 || cursor_u8(&pushed) != DW_OP_plus || pushed.bad ||
	    cursor_left(&pushed))
		return eh_rule_read_plus(c, plus);
	*plus = op - DW_OP_lit0;
	return true;
}

/*
 * Two shapes occur on every machine: reg + a, and *(reg + a) + b (realigned frames, signal frames).
 * What else there is is the machine's.
 */
void eh_rule_set_cfa_expression(struct eh_rule *rule, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_over(bytes, size);
	int64_t offset, plus;
	uint8_t reg;

	eh_rule_set_cfa_unsupported(rule);
	if (!eh_rule_read_breg(&c, &reg, &offset) || IS_BELOW_CFA(rule->base_reg))
		return;
	if (!cursor_left(&c)) {
		eh_rule_set_cfa(rule, reg, offset);
	} else if (*c.p == DW_OP_deref && offset == (int16_t)offset) {
		cursor_u8(&c);
		if (!read_plus(&c, &plus))
			return;
		eh_rule_set_cfa(rule, reg, plus);
		rule->kind = RULE_DEREF;
		rule->deref_offset = offset;
	} else {
		machine_cfa_expression(rule, &c, reg, offset);
	}
}

static void set(struct eh_rule *rule, int i, int8_t where)
{
	rule->saved[i] = where;
	rule->from_base &= ~(1 << i);
	if (rule->from_base)
		return;
	if (IS_BELOW_CFA(rule->base_reg))
		rule->deref_offset = 0;
	rule->base_reg = 0;
}

/* an offset in bytes as rule.saved[] holds it */
static int8_t saved_at(int64_t offset)
{
	return offset % 8 == 0 && offset / 8 > SAVED_ODD && offset / 8 < SAVED_SAME ? offset / 8
										    : SAVED_ODD;
}

/* A rule has one base register: the first to come. No compiler is known to use two. */
static void set_from_base(struct eh_rule *rule, int i, uint64_t base, int8_t where)
{
	if (base >= EH_NR_REGS || (rule->from_base && rule->base_reg != base) || where == SAVED_ODD)
		return;
	rule->saved[i] = where;
	rule->base_reg = base;
	rule->from_base |= 1 << i;
}

/*
 * Too far below the CFA: counted from another base, which the first such register sets. arm64's
 * compilers save registers at the lower end of a frame, however large.
 */
static void set_far(struct eh_rule *rule, int i, int64_t offset)
{
	int64_t words = offset / 8;

	if (BASE_BELOW_CFA >> RULE_REG_BITS || offset % 8 || words != (int16_t)words ||
	    (rule->kind != RULE_REG && rule->kind != RULE_UNSUPPORTED))
		return;
	if (!rule->from_base) {
		rule->base_reg = BASE_BELOW_CFA & ((1 << RULE_REG_BITS) - 1);
		rule->deref_offset = words;
	}
	if (!IS_BELOW_CFA(rule->base_reg) ||
	    saved_at((words - rule->deref_offset) * 8) == SAVED_ODD)
		return;
	rule->saved[i] = saved_at((words - rule->deref_offset) * 8);
	rule->from_base |= 1 << i;
}

struct eh_rule eh_rule_start(bool signal_frame)
{
	struct eh_rule rule = { .kind = RULE_UNSUPPORTED, .flags = signal_frame ? RULE_SIGNAL : 0 };

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	return rule;
}

void eh_rule_set_saved(struct eh_rule *rule, uint64_t reg, enum cfi_where where, int64_t offset)
{
	int i = saved_index(reg);

	if (i < 0)
		return;
	switch (where) {
	case CFI_OFFSET:
		set(rule, i, saved_at(offset));
		break;
	case CFI_SAME:
		set(rule, i, SAVED_SAME);
		break;
	case CFI_UNDEFINED:
		set(rule, i, SAVED_LOST);
		break;
	default:
		set(rule, i, SAVED_ODD);
	}
	if (where == CFI_REGISTER)
		set_from_base(rule, i, offset, SAVED_SAME);
	else if (where == CFI_OFFSET && rule->saved[i] == SAVED_ODD)
		set_far(rule, i, offset);
}

void eh_rule_set_expression(struct eh_rule *rule, uint64_t reg, bool is_value, const uint8_t *bytes,
			    size_t size)
{
	struct cursor c = cursor_over(bytes, size);
	int i = saved_index(reg);
	int64_t offset;
	uint8_t base;

	if (i < 0)
		return;
	set(rule, i, SAVED_ODD);
	if (!is_value && eh_rule_read_breg(&c, &base, &offset) && !cursor_left(&c))
		set_from_base(rule, i, base, saved_at(offset));
}

void eh_rule_restore(struct eh_rule *rule, const struct eh_rule *initial, uint64_t reg)
{
	int i = saved_index(reg);

	if (i < 0)
		return;
	if (!(initial->from_base >> i & 1)) {
		set(rule, i, initial->saved[i]);
	} else {
		set(rule, i, SAVED_ODD);
		set_from_base(rule, i, initial->base_reg, initial->saved[i]);
	}
}

/* with the base of b, which was set by another register perhaps */
static struct eh_rule from_base_of(const struct eh_rule *b, struct eh_rule rule)
{
	int by = rule.deref_offset - b->deref_offset;

	for (int i = 0; i < NR_SAVED; i++)
		if (rule.from_base >> i & 1)
			rule.saved[i] = saved_at((rule.saved[i] + by) * 8);
	rule.deref_offset = b->deref_offset;
	return rule;
}

bool eh_rule_same(const struct eh_rule *a, const struct eh_rule *b)
{
	struct eh_rule moved =
		IS_BELOW_CFA(a->base_reg) && IS_BELOW_CFA(b->base_reg) ? from_base_of(b, *a) : *a;

	return (a->kind == RULE_UNSUPPORTED && b->kind == RULE_UNSUPPORTED) ||
	       !memcmp(&moved, b, sizeof(moved));
}

void eh_rule_print_cfa(FILE *out, const struct eh_rule *rule)
{
	struct register_name reg = register_name(MACHINE, rule->cfa_reg);

	switch (rule->kind) {
	case RULE_NONE:
		fputs("none", out);
		break;
	case RULE_REG:
		fprintf(out, "%s%+d", reg.text, rule->cfa_offset);
		break;
	case RULE_DEREF:
		fprintf(out, "*(%s%+d)%+d", reg.text, rule->deref_offset, rule->cfa_offset);
		break;
	case RULE_SUM:
		fprintf(out, "%s+*(%s%+d)%+d", reg.text, reg.text, rule->deref_offset,
			rule->cfa_offset);
		break;
	case RULE_INDEXED:
		fprintf(out, "*(%s%+d+8*%s)%+d", reg.text, rule->deref_offset,
			register_name(MACHINE, INDEXED_REG(rule->cfa_offset)).text,
			INDEXED_PLUS(rule->cfa_offset));
		break;
	case RULE_PLT:
		fprintf(out, "%s%+d+plt(%d)", reg.text, rule->cfa_offset, rule->deref_offset);
		break;
	case RULE_OTHER_STACK:
		fprintf(out, "other stack %d%+d", OTHER_STACK_SWITCH(rule->cfa_offset),
			rule->deref_offset);
		break;
	default:
		fputs("unsupported", out);
	}
}

void eh_rule_print_saved(FILE *out, const struct eh_rule *rule, int i)
{
	struct register_name base = register_name(MACHINE, rule->base_reg);
	bool from_base = rule->from_base >> i & 1;

	if (rule->kind == RULE_NONE || rule->kind >= RULE_UNSUPPORTED)
		putc('-', out);
	else if (rule->saved[i] == SAVED_SAME)
		fputs(from_base ? base.text : "s", out);
	else if (rule->saved[i] == SAVED_LOST)
		putc('u', out);
	else if (rule->saved[i] == SAVED_ODD)
		fputs("odd", out);
	else if (from_base && IS_BELOW_CFA(rule->base_reg))
		fprintf(out, "c%+d", (rule->deref_offset + rule->saved[i]) * 8);
	else
		fprintf(out, "%s%+d", from_base ? base.text : "c", rule->saved[i] * 8);
}

void eh_rule_print(FILE *out, const struct eh_rule *rule)
{
	fputs("cfa=", out);
	eh_rule_print_cfa(out, rule);
	for (int i = 0; i < NR_SAVED; i++) {
		fprintf(out,
			" %s=", i == SAVED_RA ? "ra" : register_name(MACHINE, saved_reg(i)).text);
		eh_rule_print_saved(out, rule, i);
	}
}
