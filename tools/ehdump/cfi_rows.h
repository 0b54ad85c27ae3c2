/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rows: the table of DWARF 5, 6.4.1, with all registers, for printing and as a reference. */
#ifndef EHPERF_EHDUMP_CFI_ROWS_H
#define EHPERF_EHDUMP_CFI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tables_abi.h"
#include "dwarf/eh_frame.h"

#define CFI_MAX_REGS 128 /* registers with higher numbers are ignored */

enum cfi_rule_kind {
	CFI_RULE_UNDEFINED, /* also registers that no instruction mentions */
	CFI_RULE_SAME,
	CFI_RULE_OFFSET,     /* saved at CFA + offset */
	CFI_RULE_VAL_OFFSET, /* is CFA + offset */
	CFI_RULE_REGISTER,   /* in register `offset` */
	CFI_RULE_EXPRESSION, /* saved where the expression says */
	CFI_RULE_VAL_EXPRESSION,
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	bool mentioned; /* by an instruction; if not, the rule is CFI_RULE_UNDEFINED by default */
	int64_t offset;
	const uint8_t *expression; /* in the section */
	size_t expression_bytes;
};

struct cfi_row {
	uint64_t pc; /* vaddr of the row's first byte */
	const struct fde *fde;
	bool cfa_defined; /* by DW_CFA_def_cfa: only then, register and offset are valid */
	bool cfa_by_expression;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	const uint8_t *cfa_expression;
	size_t cfa_expression_bytes;
	unsigned nr_regs; /* regs[nr_regs] and later ones are CFI_RULE_UNDEFINED */
	struct cfi_rule regs[CFI_MAX_REGS];
};

/*
 * Calls `row` for each row of the FDE, by rising pc: one for each advance and one at the end, as
 * readelf prints them (two rows of one pc if an instruction advances by 0). `end` is the vaddr
 * after the row's last byte. pc_bias: as for eh_frame_pointer(). 0, or -EBADMSG if instructions do
 * not decode: `row` was not called if the CIE's do not; else it was called for the rows up to
 * there, the last of which is incomplete.
 */
int cfi_rows(const struct fde *fde, uint64_t pc_bias,
	     void (*row)(void *arg, const struct cfi_row *row, uint64_t end), void *arg);

/* the row as a rule of the compact table */
struct eh_rule cfi_row_rule(const struct cfi_row *row);

/*
 * in readelf's words: "rsp+8", "exp"; "u", "s", "c-16", "v+0", "exp", "vexp", or a register's name
 */
void cfi_row_print_cfa(FILE *out, uint16_t machine, const struct cfi_row *row);
void cfi_row_print_reg(FILE *out, uint16_t machine, const struct cfi_row *row, uint64_t reg);

#endif
