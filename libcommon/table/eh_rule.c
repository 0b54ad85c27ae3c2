// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/eh_rule.h"

#include <string.h>

#include "dwarf/registers.h"

struct eh_rule eh_rule_start(bool signal_frame)
{
	struct eh_rule rule = { .kind = RULE_UNSUPPORTED, .flags = signal_frame ? RULE_SIGNAL : 0 };

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = SAVED_ODD;
	return rule;
}

static int saved_index(uint64_t reg)
{
	switch (reg) {
	case EH_RBX:
		return SAVED_RBX;
	case EH_RBP:
		return SAVED_RBP;
	case EH_R12 ... EH_R12 + 3:
		return SAVED_R12 + (reg - EH_R12);
	case EH_RA:
		return SAVED_RA;
	default:
		return -1;
	}
}

void eh_rule_set_cfa_unsupported(struct eh_rule *rule)
{
	rule->kind = RULE_UNSUPPORTED;
	rule->cfa_reg = 0;
	rule->cfa_offset = 0;
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

/* DW_OP_bregN offset at the start of c */
static bool read_breg(struct cursor *c, uint8_t *reg, int64_t *offset)
{
	uint8_t op = cursor_u8(c);

	*reg = op - DW_OP_breg0;
	*offset = cursor_sleb128(c);
	return !c->bad && op >= DW_OP_breg0 && *reg < EH_NR_REGS;
}

/* what follows DW_OP_deref: nothing, or DW_OP_plus_uconst */
static bool read_plus(struct cursor *c, int64_t *plus)
{
	*plus = 0;
	if (cursor_left(c)) {
		if (cursor_u8(c) != DW_OP_plus_uconst)
			return false;
		*plus = cursor_uleb128(c);
	}
	return !c->bad && !cursor_left(c) && *plus >= 0 && *plus <= INT32_MAX;
}

/* DW_OP_bregN 0, lit8, mul, plus, deref, plus_uconst: an index into an array of words, as libcrypto's multiplications have it */
static void set_indexed(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset)
{
	static const uint8_t middle[] = { DW_OP_lit8, DW_OP_mul, DW_OP_plus, DW_OP_deref };
	int64_t zero, plus;
	uint8_t index;

	if (!read_breg(c, &index, &zero) || zero || offset != (int16_t)offset || cursor_left(c) < sizeof(middle) ||
	    memcmp(c->p, middle, sizeof(middle)))
		return;
	cursor_bytes(c, sizeof(middle));
	if (!read_plus(c, &plus) || plus > 0xffff)
		return;
	eh_rule_set_cfa(rule, reg, index << 16 | plus);
	rule->kind = RULE_INDEXED;
	rule->deref_offset = offset;
}

/*
 * Four shapes of expression are known to occur: reg + a; *(reg + a) + b (realigned frames, signal
 * frames); *(reg + a + index * 8) + b; and the linker's for PLT entries, (rip & 15) >= n ? reg + a + 8 : reg + a.
 */
void eh_rule_set_cfa_expression(struct eh_rule *rule, const uint8_t *bytes, size_t size)
{
	static const uint8_t plt_head[] = { DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t plt_tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	struct cursor c = cursor_over(bytes, size);
	int64_t offset, plus;
	uint8_t reg;

	eh_rule_set_cfa_unsupported(rule);
	if (!read_breg(&c, &reg, &offset))
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
	} else if (cursor_left(&c) == sizeof(plt_head) + 1 + sizeof(plt_tail) && offset == (int32_t)offset &&
		   !memcmp(c.p, plt_head, sizeof(plt_head)) &&
		   c.p[4] >= DW_OP_lit0 && c.p[4] <= DW_OP_lit15 &&
		   !memcmp(c.p + 5, plt_tail, sizeof(plt_tail))) {
		eh_rule_set_cfa(rule, reg, offset);
		rule->kind = RULE_PLT;
		rule->deref_offset = c.p[4] - DW_OP_lit0;
	} else {
		set_indexed(rule, &c, reg, offset);
	}
}

static void set(struct eh_rule *rule, int i, int8_t where)
{
	rule->saved[i] = where;
	rule->from_base &= ~(1 << i);
	if (!rule->from_base)
		rule->base_reg = 0;
}

/* an offset in bytes as rule.saved[] holds it */
static int8_t saved_at(int64_t offset)
{
	return offset % 8 == 0 && offset / 8 > SAVED_ODD && offset / 8 < SAVED_SAME ? offset / 8 : SAVED_ODD;
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

void eh_rule_set_saved(struct eh_rule *rule, uint64_t reg, enum cfi_where where, int64_t offset)
{
	int i = saved_index(reg);

	if (i < 0)
		return;
	set(rule, i, where == CFI_OFFSET ? saved_at(offset) :
		     where == CFI_SAME ? SAVED_SAME :
		     where == CFI_UNDEFINED ? SAVED_LOST : SAVED_ODD);
	if (where == CFI_REGISTER)
		set_from_base(rule, i, offset, SAVED_SAME);
}

void eh_rule_set_expression(struct eh_rule *rule, uint64_t reg, bool is_value, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_over(bytes, size);
	int i = saved_index(reg);
	int64_t offset;
	uint8_t base;

	if (i < 0)
		return;
	set(rule, i, SAVED_ODD);
	if (!is_value && read_breg(&c, &base, &offset) && !cursor_left(&c))
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

bool eh_rule_same(const struct eh_rule *a, const struct eh_rule *b)
{
	return (a->kind == RULE_UNSUPPORTED && b->kind == RULE_UNSUPPORTED) || !memcmp(a, b, sizeof(*a));
}

void eh_rule_print_cfa(FILE *out, const struct eh_rule *rule)
{
	const char *reg = register_name(EM_X86_64, rule->cfa_reg);

	switch (rule->kind) {
	case RULE_NONE:
		fputs("none", out);
		break;
	case RULE_REG:
		fprintf(out, "%s%+d", reg, rule->cfa_offset);
		break;
	case RULE_DEREF:
		fprintf(out, "*(%s%+d)%+d", reg, rule->deref_offset, rule->cfa_offset);
		break;
	case RULE_INDEXED:
		fprintf(out, "*(%s%+d+8*%s)%+d", reg, rule->deref_offset,
			register_name(EM_X86_64, INDEXED_REG(rule->cfa_offset)), INDEXED_PLUS(rule->cfa_offset));
		break;
	case RULE_PLT:
		fprintf(out, "%s%+d+plt(%d)", reg, rule->cfa_offset, rule->deref_offset);
		break;
	default:
		fputs("unsupported", out);
	}
}

void eh_rule_print_saved(FILE *out, const struct eh_rule *rule, int i)
{
	if (rule->kind == RULE_NONE || rule->kind >= RULE_UNSUPPORTED)
		putc('-', out);
	else if (rule->saved[i] == SAVED_SAME)
		fputs(rule->from_base >> i & 1 ? register_name(EM_X86_64, rule->base_reg) : "s", out);
	else if (rule->saved[i] == SAVED_LOST)
		putc('u', out);
	else if (rule->saved[i] == SAVED_ODD)
		fputs("odd", out);
	else
		fprintf(out, "%s%+d", rule->from_base >> i & 1 ? register_name(EM_X86_64, rule->base_reg) : "c",
			rule->saved[i] * 8);
}

void eh_rule_print(FILE *out, const struct eh_rule *rule)
{
	static const char *const names[NR_SAVED] = { "rbx", "rbp", "r12", "r13", "r14", "r15", "ra" };

	fputs("cfa=", out);
	eh_rule_print_cfa(out, rule);
	for (int i = 0; i < NR_SAVED; i++) {
		fprintf(out, " %s=", names[i]);
		eh_rule_print_saved(out, rule, i);
	}
}
