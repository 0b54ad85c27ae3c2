// SPDX-License-Identifier: GPL-2.0-or-later
#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#include "table/eh_rule.h"
#include "table/machine.h"

/*
 * The one that ld writes for all lazy PLT entries (binutils, bfd/elfxx-x86.c,
 * elf_x86_64_eh_frame_lazy_plt): an entry has 16 bytes and pushes the relocation's index at the
 * n-th: CFA = reg + a + ((rip & 15) >= n ? 8 : 0)
 */
static bool set_plt(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset)
{
	static const uint8_t head[] = { DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const uint8_t *n;

	if (cursor_left(c) != sizeof(head) + 1 + sizeof(tail) || offset != (int32_t)offset)
		return false;
	n = c->p + sizeof(head);
	if (memcmp(c->p, head, sizeof(head)) || *n < DW_OP_lit0 || *n > DW_OP_lit15 ||
	    memcmp(n + 1, tail, sizeof(tail)))
		return false;
	eh_rule_set_cfa(rule, reg, offset);
	rule->kind = RULE_PLT;
	rule->deref_offset = *n - DW_OP_lit0;
	return true;
}

/*
 * An index into an array of words, as OpenSSL's multiplications have it
 * (crypto/bn/asm/x86_64-mont*.pl): DW_OP_bregN 0, lit8, mul, plus, deref, plus_uconst: CFA = *(reg
 * + a + index * 8) + b
 */
static void set_indexed(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset)
{
	static const uint8_t middle[] = { DW_OP_lit8, DW_OP_mul, DW_OP_plus, DW_OP_deref };
	int64_t zero, plus;
	uint8_t index;

	if (!eh_rule_read_breg(c, &index, &zero) || zero || offset != (int16_t)offset ||
	    cursor_left(c) < sizeof(middle) || memcmp(c->p, middle, sizeof(middle)))
		return;
	cursor_bytes(c, sizeof(middle));
	if (!eh_rule_read_plus(c, &plus) || plus > 0xffff)
		return;
	eh_rule_set_cfa(rule, reg, index << 16 | plus);
	rule->kind = RULE_INDEXED;
	rule->deref_offset = offset;
}

void machine_cfa_expression(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset)
{
	if (!set_plt(rule, c, reg, offset))
		set_indexed(rule, c, reg, offset);
}
