/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rows: the table of DWARF 5, 6.4.1, with all registers, to be printed or compared with. */
#ifndef EHPERF_EHDUMP_CFI_ROWS_H
#define EHPERF_EHDUMP_CFI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tables_abi.h"
#include "dwarf/eh_frame.h"

#define CFI_MAX_REGS 128	/* higher numbers are passed over */

enum cfi_rule_kind {
	CFI_RULE_UNDEFINED,	/* also what no instruction mentions */
	CFI_RULE_SAME,
	CFI_RULE_OFFSET,	/* saved at CFA + offset */
	CFI_RULE_VAL_OFFSET,	/* is CFA + offset */
	CFI_RULE_REGISTER,	/* in register `offset` */
	CFI_RULE_EXPRESSION,	/* saved where the expression says */
	CFI_RULE_VAL_EXPRESSION,
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	bool mentioned;		/* by an instruction: else it is CFI_RULE_UNDEFINED by default */
	int64_t offset;
	const uint8_t *expression;	/* in the section */
	size_t expression_bytes;
};

struct cfi_row {
	uint64_t pc;			/* vaddr from which on it holds */
	const struct fde *fde;
	bool cfa_defined;		/* by DW_CFA_def_cfa; else register and offset mean nothing yet */
	bool cfa_by_expression;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	const uint8_t *cfa_expression;
	size_t cfa_expression_bytes;
	unsigned nr_regs;		/* those from here on are CFI_RULE_UNDEFINED */
	struct cfi_rule regs[CFI_MAX_REGS];
};

/*
 * Calls `row` for each row of the FDE: in rising order, one for each advance and one at the end, as readelf
 * does (two rows of one pc where an instruction advances by 0). `end` is where the row ceases to hold.
 * pc_bias as for eh_frame_pointer(). 0, or -EBADMSG where the instructions do not decode: then `row` was called for
 * the rows up to there, the last of which is as far as it went, and for none if the CIE's do not.
 */
int cfi_rows(const struct fde *fde, uint64_t pc_bias,
	     void (*row)(void *arg, const struct cfi_row *row, uint64_t end), void *arg);

/* the same of the row, as the compact table has it */
struct eh_rule cfi_row_rule(const struct cfi_row *row);

/* in readelf's words: "rsp+8", "exp"; "u", "s", "c-16", "v+0", "exp", "vexp", or a register's name */
void cfi_row_print_cfa(FILE *out, uint16_t machine, const struct cfi_row *row);
void cfi_row_print_reg(FILE *out, uint16_t machine, const struct cfi_row *row, uint64_t reg);

#endif
