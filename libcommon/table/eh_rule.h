/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct eh_rule (bpf/tables_abi.h) from call frame instructions (DWARF 5, 6.4.2): the part of
 * DWARF's rules that 16 bytes can hold.
 */
#ifndef EHPERF_TABLE_EH_RULE_H
#define EHPERF_TABLE_EH_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tables_abi.h"
#include "dwarf/cfi.h"

/* before any instruction: no CFA, no return address, all else unchanged */
struct eh_rule eh_rule_start(bool signal_frame);

/*
 * DWARF register numbers and offsets in bytes; what does not fit becomes RULE_UNSUPPORTED or
 * SAVED_ODD
 */
void eh_rule_set_cfa(struct eh_rule *rule, uint64_t reg, int64_t offset);
void eh_rule_set_cfa_unsupported(struct eh_rule *rule);
void eh_rule_set_cfa_expression(struct eh_rule *rule, const uint8_t *bytes, size_t size);
void eh_rule_set_saved(struct eh_rule *rule, uint64_t reg, enum cfi_where where, int64_t offset);
void eh_rule_set_expression(struct eh_rule *rule, uint64_t reg, bool is_value, const uint8_t *bytes,
			    size_t size);

/* pieces of expressions, for machine_cfa_expression(); both false for anything else */
/* DW_OP_breg<reg> offset, of a register that a rule can name */
bool eh_rule_read_breg(struct cursor *c, uint8_t *reg, int64_t *offset);
/* what follows DW_OP_deref up to the expression's end: nothing, or DW_OP_plus_uconst plus */
bool eh_rule_read_plus(struct cursor *c, int64_t *plus);

/* DW_CFA_restore: what `initial`, the CIE's rule, says of the register */
void eh_rule_restore(struct eh_rule *rule, const struct eh_rule *initial, uint64_t reg);

/* do they mean the same? All unsupported rules do. */
bool eh_rule_same(const struct eh_rule *a, const struct eh_rule *b);

/*
 * "rsp+8", "*(rbp-8)+0", "plt(11)", "none", "unsupported"; saved: "c-16", "u", "s", "rbp-24", "odd"
 */
void eh_rule_print_cfa(FILE *out, const struct eh_rule *rule);
void eh_rule_print_saved(FILE *out, const struct eh_rule *rule, int i);
/* all of it: "cfa=rsp+8 rbx=s rbp=s r12=s r13=s r14=s r15=s ra=c-8" */
void eh_rule_print(FILE *out, const struct eh_rule *rule);

#endif
