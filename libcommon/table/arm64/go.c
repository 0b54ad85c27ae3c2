// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn.h"
#include "table/machine.h"

#define STUR_FP 0xf81f83fd /* stur x29,[sp,#-8] */
#define STP_FP  0xa93ffa9d /* stp x29,x30,[x20,#-8], and */
#define MOV_SP  0x9100029f /* mov sp,x20 */

/*
 * Two forms: str x30,[sp,#-frame]!; stur x29,[sp,#-8] - and, where the frame is large, sub
 * x20,sp,#frame; stp x29,x30,[x20,#-8]; mov sp,x20.
 */
bool machine_saves_fp(const uint8_t *code, uint64_t size, uint64_t at, uint32_t frame_bytes,
		      uint64_t *from)
{
	bool later = insn_at(code, size, at) == STUR_FP;

	(void)frame_bytes;
	*from = later ? at + 4 : at;
	return later || (at >= 8 && insn_at(code, size, at - 4) == MOV_SP &&
			 insn_at(code, size, at - 8) == STP_FP);
}

/*
 * The handler has put the pc into x30, and what was in there into a frame of 16 bytes
 * (preparePanic() in src/runtime/signal_arm64.go).
 */
void machine_add_interrupted(struct eh_rule *rule)
{
	if (rule->kind != RULE_REG)
		return;
	rule->cfa_offset += 16;
	for (int i = 0; i < NR_SAVED; i++)
		if (rule->saved[i] < 0 && rule->saved[i] > SAVED_ODD && !(rule->from_base >> i & 1))
			rule->saved[i] =
				rule->saved[i] - 2 > SAVED_ODD ? rule->saved[i] - 2 : SAVED_ODD;
	if (IS_BELOW_CFA(rule->base_reg))
		rule->deref_offset -= 2;
	rule->saved[SAVED_X30] = -2;
}

bool machine_is_return(const uint8_t *code, uint64_t size, uint64_t at)
{
	return IS_RET(insn_at(code, size, at));
}

bool machine_is_syscall(const uint8_t *code, uint64_t size, uint64_t at)
{
	return insn_at(code, size, at) == INSN_SVC;
}

/* and sp,xn,#-16 */
bool machine_aligns_sp(const uint8_t *code, uint64_t size, uint64_t at, uint8_t *from)
{
	uint32_t insn = insn_at(code, size, at);

	*from = INSN_REG(insn, 5);
	return (insn & 0xfffffc1f) == 0x927cec1f;
}
