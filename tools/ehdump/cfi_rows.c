// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi_rows.h"

#include <inttypes.h>
#include <string.h>

#include "dwarf/cfi.h"
#include "table/eh_rule.h"
#include "dwarf/registers.h"

#define MAX_REMEMBERED 16

struct run {
	struct cfi_row row, initial, remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
	bool failed;
	/* NULL while the CIE's program runs */
	void (*on_row)(void *arg, const struct cfi_row *row, uint64_t end);
	void *arg;
};

/* Copies only the used part: rows are large, and copied for each FDE. */
static void copy_row(struct cfi_row *to, const struct cfi_row *from)
{
	size_t head = offsetof(struct cfi_row, regs);

	for (unsigned i = from->nr_regs; i < to->nr_regs; i++)
		to->regs[i] = (struct cfi_rule){};
	memcpy(to, from, head + from->nr_regs * sizeof(from->regs[0]));
}

static void on_advance(void *state, uint64_t vaddr)
{
	struct run *r = state;

	if (!r->on_row) /* a CIE's instructions may not advance */
		r->failed = true;
	if (r->failed)
		return;
	r->on_row(r->arg, &r->row, vaddr);
	r->row.pc = vaddr;
}

static void on_cfa(void *state, uint64_t reg, int64_t offset)
{
	struct run *r = state;

	r->row.cfa_defined = true;
	r->row.cfa_by_expression = false;
	r->row.cfa_reg = reg;
	r->row.cfa_offset = offset;
}

static void on_cfa_register(void *state, uint64_t reg)
{
	struct run *r = state;

	r->row.cfa_by_expression = false;
	r->row.cfa_reg = reg;
}

static void on_cfa_offset(void *state, int64_t offset)
{
	struct run *r = state;

	r->row.cfa_offset = offset;
}

static void on_cfa_expression(void *state, const uint8_t *bytes, size_t size)
{
	struct run *r = state;

	r->row.cfa_by_expression = true;
	r->row.cfa_expression = bytes;
	r->row.cfa_expression_bytes = size;
}

static void set(struct run *r, uint64_t reg, struct cfi_rule rule)
{
	if (reg >= CFI_MAX_REGS)
		return;
	rule.mentioned = true;
	r->row.regs[reg] = rule;
	if (reg >= r->row.nr_regs)
		r->row.nr_regs = reg + 1;
}

static void on_saved(void *state, uint64_t reg, enum cfi_where where, int64_t offset)
{
	static const enum cfi_rule_kind kinds[] = {
		[CFI_OFFSET] = CFI_RULE_OFFSET,     [CFI_VAL_OFFSET] = CFI_RULE_VAL_OFFSET,
		[CFI_SAME] = CFI_RULE_SAME,         [CFI_UNDEFINED] = CFI_RULE_UNDEFINED,
		[CFI_REGISTER] = CFI_RULE_REGISTER,
	};

	set(state, reg, (struct cfi_rule){ .kind = kinds[where], .offset = offset });
}

static void on_expression(void *state, uint64_t reg, bool is_value, const uint8_t *bytes,
			  size_t size)
{
	set(state, reg,
	    (struct cfi_rule){
		    .kind = is_value ? CFI_RULE_VAL_EXPRESSION : CFI_RULE_EXPRESSION,
		    .expression = bytes,
		    .expression_bytes = size,
	    });
}

static void on_restore(void *state, uint64_t reg)
{
	struct run *r = state;

	if (!r->on_row) /* in a CIE, there is nothing to restore */
		r->failed = true;
	if (reg >= CFI_MAX_REGS || r->failed)
		return;
	r->row.regs[reg] = r->initial.regs[reg];
	if (reg >= r->row.nr_regs)
		r->row.nr_regs = reg + 1;
}

static void on_remember(void *state)
{
	struct run *r = state;

	if (r->on_row && r->nr_remembered < MAX_REMEMBERED)
		copy_row(&r->remembered[r->nr_remembered++], &r->row);
	else
		r->failed = true;
}

static void on_restore_state(void *state)
{
	struct run *r = state;
	uint64_t pc = r->row.pc;

	if (!r->nr_remembered) {
		r->failed = true;
		return;
	}
	copy_row(&r->row, &r->remembered[--r->nr_remembered]);
	r->row.pc = pc;
}

static void on_toggle_ra_signing(void *state)
{
	(void)state; /* readelf does not show it either */
}

static const struct cfi_ops ops = {
	.advance = on_advance,
	.cfa = on_cfa,
	.cfa_register = on_cfa_register,
	.cfa_offset = on_cfa_offset,
	.cfa_expression = on_cfa_expression,
	.saved = on_saved,
	.expression = on_expression,
	.restore = on_restore,
	.remember = on_remember,
	.restore_state = on_restore_state,
	.toggle_ra_signing = on_toggle_ra_signing,
};

int cfi_rows(const struct fde *fde, uint64_t pc_bias,
	     void (*row)(void *arg, const struct cfi_row *row, uint64_t end), void *arg)
{
	static __thread struct run r; /* large: only the part that was used is cleared, below */
	const struct cie *cie = fde->cie;
	int error;

	memset(r.row.regs, 0, r.row.nr_regs * sizeof(r.row.regs[0]));
	r.row = (struct cfi_row){ .pc = fde->start, .fde = fde };
	r.initial.nr_regs = CFI_MAX_REGS;
	r.nr_remembered = 0;
	r.failed = false;
	r.on_row = NULL;
	error = cfi_run(cie, cie->program, cie->program_bytes, fde->start, pc_bias, &ops, &r);
	if (error || r.failed)
		return -EBADMSG;
	r.row.pc = fde->start;
	r.initial.nr_regs = CFI_MAX_REGS;
	copy_row(&r.initial, &r.row);
	r.on_row = row;
	r.arg = arg;
	error = cfi_run(cie, fde->program, fde->program_bytes, fde->start, pc_bias, &ops, &r);
	row(arg, &r.row, fde->start + fde->length);
	return error || r.failed ? -EBADMSG : 0;
}

struct eh_rule cfi_row_rule(const struct cfi_row *row)
{
	static const enum cfi_where where[] = {
		[CFI_RULE_UNDEFINED] = CFI_UNDEFINED, [CFI_RULE_SAME] = CFI_SAME,
		[CFI_RULE_OFFSET] = CFI_OFFSET,       [CFI_RULE_VAL_OFFSET] = CFI_VAL_OFFSET,
		[CFI_RULE_REGISTER] = CFI_REGISTER,
	};
	struct eh_rule rule = eh_rule_start(row->fde->cie->signal_frame);

	for (unsigned i = 0; i < row->nr_regs && i <= EH_RA; i++) {
		const struct cfi_rule *r = &row->regs[i];

		if (!r->mentioned)
			continue;
		if (r->kind == CFI_RULE_EXPRESSION || r->kind == CFI_RULE_VAL_EXPRESSION)
			eh_rule_set_expression(&rule, i, r->kind == CFI_RULE_VAL_EXPRESSION,
					       r->expression, r->expression_bytes);
		else
			eh_rule_set_saved(&rule, i, where[r->kind], r->offset);
	}
	if (row->fde->cie->ra_reg != EH_RA)
		return (struct eh_rule){ .kind = RULE_UNSUPPORTED };
	if (row->cfa_by_expression)
		eh_rule_set_cfa_expression(&rule, row->cfa_expression, row->cfa_expression_bytes);
	else if (row->cfa_defined)
		eh_rule_set_cfa(&rule, row->cfa_reg, row->cfa_offset);
	return rule;
}

void cfi_row_print_cfa(FILE *out, uint16_t machine, const struct cfi_row *row)
{
	if (row->cfa_by_expression)
		fputs("exp", out);
	else
		fprintf(out, "%s%+" PRId64, register_name(machine, row->cfa_reg).text,
			row->cfa_offset);
}

void cfi_row_print_reg(FILE *out, uint16_t machine, const struct cfi_row *row, uint64_t reg)
{
	static const char *const words[] = {
		[CFI_RULE_UNDEFINED] = "u",
		[CFI_RULE_SAME] = "s",
		[CFI_RULE_EXPRESSION] = "exp",
		[CFI_RULE_VAL_EXPRESSION] = "vexp",
	};
	const struct cfi_rule *r = &row->regs[reg < CFI_MAX_REGS ? reg : 0];

	if (reg >= row->nr_regs)
		putc('u', out);
	else if (r->kind == CFI_RULE_OFFSET || r->kind == CFI_RULE_VAL_OFFSET)
		fprintf(out, "%c%+" PRId64, r->kind == CFI_RULE_OFFSET ? 'c' : 'v', r->offset);
	else if (r->kind == CFI_RULE_REGISTER)
		fputs(register_name(machine, r->offset).text, out);
	else
		fputs(words[r->kind], out);
}
