// SPDX-License-Identifier: GPL-2.0-or-later
/* Where an instruction leads in a function. */
#include <Zydis/Zydis.h>
#include <string.h>

#include "table/machine.h"

static enum machine_way way_of(const ZydisDecodedInstruction *d)
{
	bool relative = d->raw.imm[0].is_relative;

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
			return relative ? WAY_BRANCH : WAY_ON; /* xend is taken for one */
		if (d->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			return relative ? WAY_JUMP : WAY_ELSEWHERE;
		return WAY_ON;
	}
}

static int number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15
		       ? -1
		       : (int)(whole - ZYDIS_REGISTER_RAX);
}

static bool is_indexed(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.index != ZYDIS_REGISTER_NONE;
}

/*
 * An indirect jump: of a switch, or a call in the end. Compilers mark those of a switch, where
 * marks are in use (CET).
 */
static enum machine_way indirect_way(const ZydisDecodedInstruction *d,
				     const ZydisDecodedOperand *to,
				     const struct machine_memory *memory)
{
	int reg = to->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(to->reg.value) : -1;

	if (d->attributes & ZYDIS_ATTRIB_HAS_NOTRACK || (reg >= 0 && memory->sums >> reg & 1))
		return WAY_SWITCH;
	return is_indexed(to) || (reg >= 0 && memory->words >> reg & 1) ? WAY_EITHER
									: WAY_ELSEWHERE;
}

static void remember(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o,
		     struct machine_memory *memory)
{
	if (d->meta.category == ZYDIS_CATEGORY_CALL)
		*memory = (struct machine_memory){};
	for (int i = 0; i < d->operand_count; i++) {
		int reg = o[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o[i].reg.value) : -1;

		if (reg < 0 || !(o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		memory->sums &= ~(1u << reg);
		memory->words &= ~(1u << reg);
		if (i == 0 && ((d->mnemonic == ZYDIS_MNEMONIC_ADD &&
				o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) ||
			       (d->mnemonic == ZYDIS_MNEMONIC_LEA &&
				o[1].mem.base != ZYDIS_REGISTER_NONE && is_indexed(&o[1]))))
			memory->sums |= 1u << reg;
		if (i == 0 && d->operand_count > 1 && is_indexed(&o[1]) &&
		    d->mnemonic != ZYDIS_MNEMONIC_LEA)
			memory->words |= 1u << reg;
	}
}

static void note_memory(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o,
			uint64_t vaddr, struct machine_step *step)
{
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		return;
	if (o->mem.base == ZYDIS_REGISTER_RIP)
		step->data = vaddr + d->length + o->mem.disp.value;
	else if (o->mem.base == ZYDIS_REGISTER_NONE || o->mem.index != ZYDIS_REGISTER_NONE)
		/* of a program that is not moved: a table, perhaps */
		step->data = o->mem.disp.value;
	if (o->mem.index != ZYDIS_REGISTER_NONE ||
	    (o->mem.base != ZYDIS_REGISTER_RSP && o->mem.base != ZYDIS_REGISTER_RBP) ||
	    d->mnemonic == ZYDIS_MNEMONIC_POP)
		return;
	step->reads = true;
	step->base = o->mem.base == ZYDIS_REGISTER_RSP ? EH_RSP : EH_RBP;
	step->displacement = o->mem.disp.value;
}

size_t machine_step(const uint8_t *code, size_t size, uint64_t vaddr, struct machine_memory *memory,
		    struct machine_step *step)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT] = {};
	ZydisDecoderContext context;
	ZydisDecodedInstruction d;
	ZydisDecoder decoder;

	*step = (struct machine_step){ .way = WAY_STOP };
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code, size, &d)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &d, o, d.operand_count)))
		return 0;
	step->way = way_of(&d);
	step->calls =
		d.meta.category == ZYDIS_CATEGORY_CALL || d.meta.category == ZYDIS_CATEGORY_SYSCALL;
	if (d.mnemonic == ZYDIS_MNEMONIC_POP) {
		step->reads = true;
		step->base = EH_RSP;
	}
	for (int i = 0; i < d.operand_count; i++)
		note_memory(&d, &o[i], vaddr, step);
	if (step->way == WAY_JUMP || step->way == WAY_BRANCH)
		step->to = vaddr + d.length + d.raw.imm[0].value.s;
	if (step->way == WAY_ELSEWHERE) {
		step->by_slot = o[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				o[0].mem.base == ZYDIS_REGISTER_RIP;
		step->way = indirect_way(&d, &o[0], memory);
	}
	remember(&d, o, memory);
	return d.length;
}

/* is_prefix_bad() of arch/x86/kernel/uprobes.c: es, cs, ss, ds, lock */
static bool is_bad_prefix(uint8_t byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0xf0;
}

static bool is_other_prefix(uint8_t byte)
{
	return byte == 0x64 || byte == 0x65 || byte == 0x66 || byte == 0x67 || byte == 0xf2 ||
	       byte == 0xf3;
}

/*
 * 0x90 with REX.B exchanges rax and r8. branch_setup_xol_ops() takes each 0x90 for a nop, and skips
 * it: the program goes on with the wrong registers. Go's runtime.gcWriteBarrierR8 begins so.
 */
static bool is_exchange_with_r8(const uint8_t *code, size_t size)
{
	return size >= 2 && (code[0] & 0xf1) == 0x41 && code[1] == 0x90;
}

/*
 * EVEX and VEX. arch/x86/kernel/uprobes.c looks at the opcode behind them as if it were one without
 * them: vpbroadcastb, with which glibc's __strchrnul_evex begins, is a jp to it, and printf()
 * prints its format. On others it sets no probe, and does not say so.
 */
static bool is_vector_prefix(uint8_t byte)
{
	return byte == 0x62 || byte == 0xc4 || byte == 0xc5;
}

/*
 * good_insns_64 and good_2byte_insns there lack these: the kernel refuses them, and with one of
 * them all functions of a pattern.
 */
static bool is_refused_opcode(const uint8_t *code, size_t size)
{
	static const uint8_t refused[] = {
		0x6c, 0x6d, 0x6e, 0x6f,                         /* ins, outs */
		0xcc, 0xcd, 0xcf, 0xf1,                         /* int3, int, iret, int1 */
		0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, /* in, out */
		0xf4, 0xfa, 0xfb,                               /* hlt, cli, sti */
	};
	static const uint8_t refused_0f[] = {
		0x00, 0x01, 0x05, 0x06, 0x07, 0x08, 0x09, /* xgetbv, rdtscp, syscall and others */
		0x0b, 0x30, 0x34, 0x35, 0x37, 0x78, 0x79, /* ud2, sysenter, vmread and others */
		0xae,                                     /* fences, xsave, rdfsbase */
	};

	if (size && (*code & 0xf0) == 0x40) { /* REX */
		code++;
		size--;
	}
	if (size >= 2 && *code == 0x0f)
		return memchr(refused_0f, code[1], sizeof(refused_0f));
	return !size || memchr(refused, *code, sizeof(refused));
}

bool machine_is_unprobeable(const uint8_t *code, size_t size, size_t at)
{
	code += at;
	size -= at;
	for (; size && is_other_prefix(*code); code++, size--)
		;
	return !size || is_bad_prefix(*code) || is_vector_prefix(*code) ||
	       is_exchange_with_r8(code, size) || is_refused_opcode(code, size);
}
