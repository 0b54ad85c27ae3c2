// SPDX-License-Identifier: GPL-2.0-or-later
/* What an instruction does to the way through a function. */
#include <Zydis/Zydis.h>

#include "table/machine.h"

static enum machine_way way_of(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		return WAY_RETURN;
	case ZYDIS_MNEMONIC_XABORT:
		return WAY_ON;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		return WAY_STOP;
	default:
		if (d->meta.category == ZYDIS_CATEGORY_COND_BR)
			return WAY_BRANCH;
		return d->meta.category == ZYDIS_CATEGORY_UNCOND_BR ? WAY_JUMP : WAY_ON;
	}
}

static int sp_displacement(const ZydisDecodedOperand *o, uint8_t *base, int64_t *displacement)
{
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.index != ZYDIS_REGISTER_NONE ||
	    (o->mem.base != ZYDIS_REGISTER_RSP && o->mem.base != ZYDIS_REGISTER_RBP))
		return 0;
	*base = o->mem.base == ZYDIS_REGISTER_RSP ? EH_RSP : EH_RBP;
	*displacement = o->mem.disp.value;
	return 1;
}

/* by a register that was worked out as a sum, or by a word of a table: a switch; else a call in the end */
static bool is_switch(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *to, uint32_t sums)
{
	if (d->attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
		return true;
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return to->mem.index != ZYDIS_REGISTER_NONE;
	return to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->reg.value >= ZYDIS_REGISTER_RAX &&
	       to->reg.value <= ZYDIS_REGISTER_R15 && sums >> (to->reg.value - ZYDIS_REGISTER_RAX) & 1;
}

static void note_sums(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o, uint32_t *sums)
{
	for (int i = 0; i < d->operand_count; i++) {
		ZydisRegister whole;

		if (o[i].type != ZYDIS_OPERAND_TYPE_REGISTER || !(o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o[i].reg.value);
		if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
			continue;
		if (d->mnemonic == ZYDIS_MNEMONIC_ADD && i == 0 && o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			*sums |= 1u << (whole - ZYDIS_REGISTER_RAX);
		else
			*sums &= ~(1u << (whole - ZYDIS_REGISTER_RAX));
	}
}

size_t machine_step(const uint8_t *code, size_t size, uint64_t vaddr, uint32_t *sums, struct machine_step *step)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT] = {};
	ZydisDecoderContext context;
	ZydisDecodedInstruction d;
	ZydisDecoder decoder;

	*step = (struct machine_step){ .way = WAY_STOP };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code, size, &d)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &d, o, d.operand_count)))
		return 0;
	step->way = way_of(&d);
	if ((step->way == WAY_JUMP || step->way == WAY_BRANCH) && d.raw.imm[0].is_relative)
		step->to = vaddr + d.length + d.raw.imm[0].value.s;
	else if (step->way == WAY_JUMP)
		step->way = is_switch(&d, &o[0], *sums) ? WAY_SWITCH : WAY_ELSEWHERE;
	note_sums(&d, o, sums);
	/* what is stored there is not read; an address that is taken may be */
	for (int i = 0; i < d.operand_count; i++)
		if ((o[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ || d.mnemonic == ZYDIS_MNEMONIC_LEA) &&
		    o[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			step->reads |= sp_displacement(&o[i], &step->base, &step->displacement);
	return d.length;
}
