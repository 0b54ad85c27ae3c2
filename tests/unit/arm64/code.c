// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules from A64 instructions, on whatever machine: each instruction of aarch64-linux-gnu-as, and
 * what the ABI says of its frame.
 */
#include <string.h>

#include "../check.h"
#include "table/code_rules.h"
#include "table/machine.h"

#define UNKNOWN -1         /* for reg: no rule */
#define SAME    SAVED_SAME /* the return address is in x30 */

static const struct {
	uint32_t insn;
	/* the CFA before it, and the return address's place in words from there */
	int reg, offset, ra;
	const char *text;
} code[] = {
	{ 0xd503233f, 31, 0, SAME, "paciasp" },
	{ 0xa9bd7bfd, 31, 0, SAME, "stp x29, x30, [sp, #-48]!" },
	{ 0x910003fd, 31, 48, -5, "mov x29, sp" },
	{ 0xa90153f3, 31, 48, -5, "stp x19, x20, [sp, #16]" },
	{ 0xf90013f5, 31, 48, -5, "str x21, [sp, #32]" },
	{ 0xaa0003f3, 31, 48, -5, "mov x19, x0" },
	{ 0x9400000a, 31, 48, -5, "bl the next function" },
	{ 0xb4000040, 31, 48, -5, "cbz x0, behind the next" },
	{ 0x52800020, 31, 48, -5, "mov w0, #1" },
	{ 0xf94013f5, 31, 48, -5, "ldr x21, [sp, #32]" },
	{ 0xa94153f3, 31, 48, -5, "ldp x19, x20, [sp, #16]" },
	{ 0xa8c37bfd, 31, 48, -5, "ldp x29, x30, [sp], #48" },
	{ 0xd50323bf, 31, 0, SAME, "autiasp" },
	{ 0xd65f03c0, 31, 0, SAME, "ret" },
	{ 0xd503201f, 31, 0, SAME, "nop" },
	{ 0xd503201f, 31, 0, SAME, "nop" },
	/* without a call */
	{ 0xd10083ff, 31, 0, SAME, "sub sp, sp, #32" },
	{ 0xf90007e0, 31, 32, SAME, "str x0, [sp, #8]" },
	{ 0xb9400be0, 31, 32, SAME, "ldr w0, [sp, #8]" },
	{ 0x910083ff, 31, 32, SAME, "add sp, sp, #32" },
	{ 0xd65f03c0, 31, 0, SAME, "ret" },
	{ 0xd503201f, 31, 0, SAME, "nop" },
	{ 0xd503201f, 31, 0, SAME, "nop" },
	{ 0xd503201f, 31, 0, SAME, "nop" },
	/* a tail call by a register */
	{ 0xa9bf7bfd, 31, 0, SAME, "stp x29, x30, [sp, #-16]!" },
	{ 0xd63f0020, 31, 16, -1, "blr x1" },
	{ 0xa8c17bfd, 31, 16, -1, "ldp x29, x30, [sp], #16" },
	{ 0xd61f0200, 31, 0, SAME, "br x16" },
	/* alloca() */
	{ 0xa9be7bfd, 31, 0, SAME, "stp x29, x30, [sp, #-32]!" },
	{ 0x910003fd, 31, 32, -3, "mov x29, sp" },
	{ 0xcb2063ff, 29, 32, -3, "sub sp, sp, x0" },
	{ 0xf9000bbc, 29, 32, -3, "str x28, [x29, #16]" },
	{ 0xd63f0020, 29, 32, -3, "blr x1" },
	{ 0xf9400bbc, 29, 32, -3, "ldr x28, [x29, #16]" },
	{ 0x910003bf, 29, 32, -3, "mov sp, x29" },
	{ 0xa8c27bfd, 31, 32, -3, "ldp x29, x30, [sp], #32" },
	{ 0xd65f03c0, 31, 0, SAME, "ret" },
	{ 0xd503201f, UNKNOWN, 0, 0, "nop" },
	{ 0xd503201f, UNKNOWN, 0, 0, "nop" },
	{ 0xd503201f, UNKNOWN, 0, 0, "nop" },
	/* it does not return */
	{ 0xd503245f, 31, 0, SAME, "bti c" },
	{ 0xf81f0ffe, 31, 0, SAME, "str x30, [sp, #-16]!" },
	{ 0xd63f0020, 31, 16, -2, "blr x1" },
	{ 0xd2800ba8, 31, 16, -2, "mov x8, #93" },
	{ 0xd4000001, 31, 16, -2, "svc #0" },
	{ 0x00000000, 31, 16, -2, "udf #0" },
};
#define NR (sizeof(code) / sizeof(code[0]))

static size_t nr_seen;
static bool in_order = true;

static void see(void *arg, size_t at, const struct eh_rule *rule)
{
	size_t i = at / 4;

	(void)arg;
	in_order = in_order && at == 4 * nr_seen;
	nr_seen++;
	if (code[i].reg == UNKNOWN)
		check(rule->kind == RULE_NONE, "%s", code[i].text);
	else
		check(rule->kind == RULE_REG && rule->cfa_reg == code[i].reg &&
			      rule->cfa_offset == code[i].offset &&
			      rule->saved[SAVED_RA] == code[i].ra && rule->flags & RULE_FROM_CODE,
		      "%s", code[i].text);
}

static void see_none(void *arg, size_t at, const struct eh_rule *rule)
{
	(void)arg;
	check(rule->kind == RULE_NONE, "at %zu", at);
}

/* a probe between an exclusive load and its store makes the program try for ever */
static const struct {
	uint32_t insn;
	bool unprobeable;
	const char *text;
} exclusive[] = {
	{ 0xc8dffc20, false, "ldar x0, [x1]" },
	{ 0x885ffc22, true, "ldaxr w2, [x1]" },
	{ 0x11000442, true, "add w2, w2, #0x1" },
	{ 0x8803fc22, true, "stlxr w3, w2, [x1]" },
	{ 0x35ffffa3, false, "cbnz w3, 4" },
	{ 0x88a07c41, false, "cas w0, w1, [x2]" },
	{ 0x48207c82, false, "casp x0, x1, x2, x3, [x4]" },
	{ 0x08207c82, false, "casp w0, w1, w2, w3, [x4]" },
	{ 0xc89ffc20, false, "stlr x0, [x1]" },
	{ 0xc87f0440, true, "ldxp x0, x1, [x2]" },
	{ 0xb5000040, true, "cbnz x0, 30" },
	{ 0xc8250440, true, "stxp w5, x0, x1, [x2]" },
	{ 0xc85f7c20, true, "ldxr x0, [x1]" },
	{ 0xd65f03c0, false, "ret" },
	{ 0xd503201f, false, "nop" },
};
#define NR_EXCLUSIVE (sizeof(exclusive) / sizeof(exclusive[0]))

static void check_unprobeable(void)
{
	uint32_t insns[NR_EXCLUSIVE];

	for (size_t i = 0; i < NR_EXCLUSIVE; i++)
		insns[i] = exclusive[i].insn;
	for (size_t i = 0; i < NR_EXCLUSIVE; i++)
		check(machine_is_unprobeable((const uint8_t *)insns, sizeof(insns), 4 * i) ==
			      exclusive[i].unprobeable,
		      "%s", exclusive[i].text);
}

int main(void)
{
	uint32_t insns[NR];

	for (size_t i = 0; i < NR; i++)
		insns[i] = code[i].insn;
	check(!code_rules((const uint8_t *)insns, sizeof(insns), 0x1000, see, NULL) && in_order &&
		      nr_seen == NR,
	      "each instruction has one rule, in order");
	check(!code_rules((const uint8_t *)insns, 6, 0x1000, see_none, NULL),
	      "half an instruction is none");
	check_unprobeable();
	return check_done();
}
