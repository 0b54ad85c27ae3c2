// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64 instructions, by Zydis. */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "table/code_insns.h"
#include "table/machine.h"
#include "vector.h"

struct decoder {
	ZydisDecoder zydis;
	struct code *code;
	/* the instruction at hand */
	ZydisDecoderContext context;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT]; /* once read_operands() was called */
	/* the constant that this instruction, and the one before, moves into eax; or -1 */
	int64_t eax, eax_before;
	size_t retpoline; /* offset in the code of where the last retpoline's call leads to */
};

/* ---- operands ---- */

/* Zydis can leave these out, and jumps, calls, compares and padding say what they do without. */
static const ZydisDecodedOperand *read_operands(struct decoder *decoder)
{
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder->zydis, &decoder->context,
						     &decoder->d, decoder->operands,
						     decoder->d.operand_count)))
		memset(decoder->operands, 0, sizeof(decoder->operands)); /* all of no type */
	return decoder->operands;
}

static uint8_t dwarf_number(ZydisRegister reg)
{
	static const uint8_t numbers[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

	return reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15
		       ? NO_REG
		       : numbers[reg - ZYDIS_REGISTER_RAX];
}

static uint8_t whole_register(const ZydisDecodedOperand *o)
{
	return dwarf_number(
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value));
}

/* a 64-bit register by itself */
static uint8_t plain_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? dwarf_number(o->reg.value) : NO_REG;
}

/* base + displacement and nothing else */
static bool plain_address(const ZydisDecodedOperand *o, struct insn *insn)
{
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.index != ZYDIS_REGISTER_NONE ||
	    o->mem.disp.value < INT32_MIN || o->mem.disp.value > INT32_MAX ||
	    o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	insn->base = dwarf_number(o->mem.base);
	insn->displacement = o->mem.disp.value;
	return insn->base != NO_REG;
}

/* ---- moves ---- */

static bool decode_mov(const ZydisDecodedOperand *o, struct insn *insn)
{
	uint8_t to = plain_register(&o[0]), from = plain_register(&o[1]);

	if (to != NO_REG && from != NO_REG) {
		insn->effect = INSN_SET;
		insn->base = from;
		insn->displacement = 0;
	} else if (to != NO_REG && plain_address(&o[1], insn)) {
		insn->effect = INSN_LOAD;
	} else if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && plain_address(&o[0], insn)) {
		insn->effect = INSN_STORE;
		to = from;
	} else {
		return false;
	}
	insn->reg = to;
	return true;
}

/* reg = base + displacement, or from or to memory; false where it is another kind of move */
static bool decode_move(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o,
			struct insn *insn)
{
	uint8_t to;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return decode_mov(o, insn);
	case ZYDIS_MNEMONIC_LEA:
		to = plain_register(&o[0]);
		if (to == NO_REG || !plain_address(&o[1], insn))
			return false;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		to = plain_register(&o[0]);
		if (to == REG_SP && plain_register(&o[1]) != NO_REG) {
			insn->effect = d->mnemonic == ZYDIS_MNEMONIC_ADD ? INSN_ADD : INSN_SUB;
			insn->reg = to;
			insn->base = plain_register(&o[1]);
			insn->overwritten = 1u << REG_SP;
			return true;
		}
		if (to == NO_REG || o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    o[1].imm.value.s <= INT32_MIN || o[1].imm.value.s > INT32_MAX)
			return false;
		insn->base = to;
		insn->displacement =
			d->mnemonic == ZYDIS_MNEMONIC_ADD ? o[1].imm.value.s : -o[1].imm.value.s;
		break;
	default:
		return false;
	}
	insn->effect = INSN_SET;
	insn->reg = to;
	return true;
}

/* ---- jumps and calls ---- */

/*
 * Where a relative jump or call leads, by an offset in the code, which may lie outside. false: it
 * is not relative
 */
static bool relative_target(const struct decoder *decoder, const struct insn *insn, int64_t *to)
{
	const ZydisDecodedInstruction *d = &decoder->d;

	if (!d->raw.imm[0].is_relative)
		return false;
	*to = (int64_t)insn->at + d->length + d->raw.imm[0].value.s;
	return true;
}

static bool is_inside(const struct code *c, int64_t at)
{
	return at >= 0 && at < (int64_t)c->size;
}

/* Is the instruction a part of an epilogue? */
static bool gives_back(const struct insn *insn)
{
	return insn->effect == INSN_POP || insn->effect == INSN_LEAVE ||
	       (insn->effect == INSN_SET && insn->reg == REG_SP && insn->base == REG_SP &&
		insn->displacement > 0);
}

#define MAX_TAIL 16 /* instructions from an epilogue's beginning to the tail call */

/*
 * Does an indirect jump by this register leave the function? It does behind an epilogue: at once,
 * or behind one that pops registers and a few instructions that prepare the call; unless the
 * register is worked out among them, as for a switch, or popped, being the return address then.
 */
static bool gives_frame_up(const struct code *c, uint8_t by)
{
	bool found = false, is_set = false;

	for (size_t n = 1; n <= MAX_TAIL && n <= c->nr; n++) {
		const struct insn *before = &c->insns[c->nr - n];

		if (gives_back(before)) {
			if (before->effect == INSN_POP && before->reg != NO_REG &&
			    before->reg == by && !is_set)
				return false;
			found |= n == 1 || before->effect != INSN_SET;
		} else if (found) {
			return true;
		} else if (before->effect == INSN_SET || before->effect == INSN_LOAD) {
			if (before->reg == REG_SP)
				return false;
			is_set |= before->reg == by;
		} else if ((before->effect != INSN_OTHER && before->effect != INSN_STORE) ||
			   before->overwritten >> REG_SP & 1 ||
			   (before->overwritten >> by & 1 && !is_set)) {
			return false;
		}
	}
	return found;
}

/* an indirect jump, to what the operand says */
static enum insn_effect effect_of_jump(const struct code *c, const ZydisDecodedOperand *to)
{
	uint8_t by;

	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_RIP)
		return INSN_RETURN; /* a tail call through the GOT */
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.index != ZYDIS_REGISTER_NONE)
		return INSN_INDIRECT; /* through a table: a switch */
	by = to->type == ZYDIS_OPERAND_TYPE_MEMORY ? dwarf_number(to->mem.base)
						   : plain_register(to);
	return by < EH_NR_REGS && by != REG_SP && gives_frame_up(c, by) ? INSN_RETURN
									: INSN_INDIRECT;
}

static void decode_jump(struct decoder *decoder, struct insn *insn)
{
	bool always = decoder->d.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	int64_t to;

	if (insn->at < decoder->retpoline)
		return;
	if (relative_target(decoder, insn, &to)) {
		if (is_inside(decoder->code, to)) {
			insn->effect = always ? INSN_JUMP : INSN_BRANCH;
			insn->target = to;
		} else if (!always) {
			insn->effect = INSN_OTHER;
		} else { /* a tail call */
			insn->effect = decoder->code->generated ? INSN_INDIRECT : INSN_RETURN;
		}
		return;
	}
	insn->effect = effect_of_jump(decoder->code, read_operands(decoder));
}

/*
 * Compilers' retpolines call over a loop that is never run: pause; lfence; jmp. What the call
 * pushes is overwritten or thrown away. So the call counts as a push, and nothing comes between it
 * and its target.
 */
static bool is_retpoline(const struct code *c, size_t behind, int64_t to)
{
	static const uint8_t loop[] = { 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9 };

	return to >= (int64_t)(behind + sizeof(loop)) &&
	       to < (int64_t)(behind + sizeof(loop) + FUNCTION_ALIGNMENT) &&
	       to < (int64_t)c->size && !memcmp(c->bytes + behind, loop, sizeof(loop));
}

/*
 * mov %reg, (%rsp); ret: the retpoline of an indirect jump, whose function finds the return address
 * in the next word
 */
static bool jumps_by_return(const struct decoder *decoder)
{
	const struct code *c = decoder->code;
	const struct insn *before = c->nr ? &c->insns[c->nr - 1] : NULL;

	return before && before->at == decoder->retpoline && before->effect == INSN_STORE &&
	       before->base == REG_SP && !before->displacement;
}

static void decode_call(struct decoder *decoder, struct insn *insn)
{
	int64_t to;

	if (relative_target(decoder, insn, &to) &&
	    is_retpoline(decoder->code, insn->at + decoder->d.length, to)) {
		insn->effect = INSN_PUSH;
		decoder->retpoline = to;
		return;
	}
	insn->effect = INSN_CALL;
	insn->overwritten = CALLER_SAVED;
	insn->target = relative_target(decoder, insn, &to) && is_inside(decoder->code, to)
			       ? to
			       : NO_TARGET;
}

/* system calls that do not return (arch/x86/entry/syscalls/syscall_64.tbl) */
#define NR_RT_SIGRETURN 15
#define NR_EXIT         60
#define NR_EXIT_GROUP   231

/* ---- everything ---- */

/* 66 90 is xchg %ax,%ax */
static bool is_nop(struct decoder *decoder)
{
	const ZydisDecodedOperand *o;

	if (decoder->d.mnemonic == ZYDIS_MNEMONIC_NOP)
		return true;
	o = read_operands(decoder);
	return o[0].size == 16 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o[1].type == o[0].type && o[0].reg.value == o[1].reg.value;
}

static void decode_push_pop(struct decoder *decoder, struct insn *insn)
{
	const ZydisDecodedOperand *o = read_operands(decoder);

	if (o[0].size != 64 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		insn->effect = INSN_STOP; /* push %ax */
		return;
	}
	insn->effect = decoder->d.mnemonic == ZYDIS_MNEMONIC_PUSH ? INSN_PUSH : INSN_POP;
	insn->reg = plain_register(&o[0]);
}

/* What has to do with the stack, or with what comes next. false: it is none of these */
static bool decode_control(struct decoder *decoder, struct insn *insn)
{
	const ZydisDecodedInstruction *d = &decoder->d;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		insn->effect = d->operand_count_visible ? INSN_STOP : INSN_RETURN;
		insn->displacement = jumps_by_return(decoder) ? 8 : 0;
		decoder->code->nr_returns++;
		decoder->code->nr_popping += d->operand_count_visible != 0;
		return true;
	case ZYDIS_MNEMONIC_SYSCALL:
		if (decoder->eax_before == NR_RT_SIGRETURN)
			insn->effect = INSN_STOP;
		else if (decoder->eax_before == NR_EXIT || decoder->eax_before == NR_EXIT_GROUP)
			insn->effect = INSN_EXIT;
		return insn->effect != INSN_OTHER;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		insn->effect = INSN_STOP;
		return true;
	case ZYDIS_MNEMONIC_CALL:
		decode_call(decoder, insn);
		return true;
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_NOP:
		insn->padding = is_nop(decoder);
		return insn->padding;
	case ZYDIS_MNEMONIC_ENDBR64:
		insn->landing = true;
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		insn->effect = INSN_LEAVE;
		insn->reg = REG_FP;
		return true;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
		decode_push_pop(decoder, insn);
		return true;
	case ZYDIS_MNEMONIC_PUSHFQ:
		insn->effect = INSN_PUSH;
		return true;
	case ZYDIS_MNEMONIC_POPFQ:
		insn->effect = INSN_POP;
		return true;
	default:
		if (d->meta.category != ZYDIS_CATEGORY_UNCOND_BR &&
		    d->meta.category != ZYDIS_CATEGORY_COND_BR)
			return false;
		decode_jump(decoder, insn);
		return true;
	}
}

/* cmp 16(%r14), %rsp or %r12: g.stackguard0, by Go's ABI */
static bool is_stack_check(const uint8_t *bytes, size_t size)
{
	return size == 4 && (bytes[0] & ~4) == 0x49 && bytes[1] == 0x3b && bytes[2] == 0x66 &&
	       bytes[3] == 0x10;
}

/* the rest: what it moves, or which registers it overwrites */
static void decode_other(struct decoder *decoder, struct insn *insn)
{
	const ZydisDecodedInstruction *d = &decoder->d;
	const ZydisDecodedOperand *o;

	/* flags only */
	if (d->mnemonic == ZYDIS_MNEMONIC_CMP || d->mnemonic == ZYDIS_MNEMONIC_TEST) {
		insn->stack_check = is_stack_check(decoder->code->bytes + insn->at, d->length);
		return;
	}
	o = read_operands(decoder);
	if (decode_move(d, o, insn))
		return;
	if (d->mnemonic == ZYDIS_MNEMONIC_MOV && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    whole_register(&o[0]) == 0 && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		decoder->eax = o[1].imm.value.s;
	for (int i = 0; i < d->operand_count; i++)
		if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			uint8_t reg = whole_register(&o[i]);

			if (reg != NO_REG)
				insn->overwritten |= 1u << reg;
		}
}

/* May rax hold another value at the next instruction? */
static bool changes_rax(const struct insn *insn)
{
	return insn->overwritten & 1 || (insn_sets_reg(insn) && insn->reg == 0) ||
	       insn->effect == INSN_CALL || !insn_reaches_next(insn);
}

/*
 * The length of a filler. Linkers fill up sections with zeros: there, and only where no instruction
 * can follow, is one not an instruction. Between pieces of generated code lie the numbers of who
 * has allocated them, which end in zeros: one is never an instruction, and what follows the zeros
 * is.
 */
static size_t filler_bytes(const struct code *c, size_t at)
{
	enum insn_effect before = c->nr ? c->insns[c->nr - 1].effect : INSN_STOP;
	size_t bytes = 0;

	if (c->generated)
		while (at + bytes < c->size && !c->bytes[at + bytes])
			bytes++;
	else
		bytes = !c->bytes[at] &&
			(before == INSN_STOP || before == INSN_EXIT || before == INSN_INDIRECT ||
			 before == INSN_RETURN || before == INSN_JUMP);
	return bytes;
}

#define MIN_NUMBER_ZEROS 5

/*
 * An allocator writes numbers of 8 bytes before each function. What decodes from one into what
 * follows is no instruction. Returns the bytes to the number's end, or 0. Few instructions have so
 * many zeros at its end and go on.
 */
static size_t bytes_of_number(const struct code *c, size_t at, size_t bytes)
{
	static const uint8_t zeros[MIN_NUMBER_ZEROS];
	size_t to = 8 - (c->vaddr + at) % 8;

	return c->generated && to >= MIN_NUMBER_ZEROS && to < bytes &&
			       !memcmp(c->bytes + at + to - MIN_NUMBER_ZEROS, zeros, sizeof(zeros))
		       ? to
		       : 0;
}

/* the instruction at insn->at; its bytes */
static size_t decode_insn(struct decoder *decoder, struct insn *insn)
{
	const struct code *c = decoder->code;
	size_t vector = vector_bytes(c->bytes + insn->at, c->size - insn->at),
	       filler = filler_bytes(c, insn->at);

	if (vector)
		return vector;
	if (filler) {
		insn->effect = INSN_STOP;
		return filler;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder->zydis, &decoder->context,
							c->bytes + insn->at, c->size - insn->at,
							&decoder->d))) {
		insn->effect = INSN_STOP;
		return 1;
	}
	filler = bytes_of_number(c, insn->at, decoder->d.length);
	if (filler) {
		insn->effect = INSN_STOP;
		return filler;
	}
	if (!decode_control(decoder, insn))
		decode_other(decoder, insn);
	return decoder->d.length;
}

int machine_decode(struct code *c)
{
	struct decoder decoder = { .code = c };

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder.zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -ENOMEM;
	for (size_t at = 0; at < c->size; c->nr++) {
		struct insn *insn;

		if (array_reserve(&c->insns, &c->max, c->nr + 1))
			return -ENOMEM;
		decoder.eax_before = decoder.eax;
		insn = &c->insns[c->nr];
		*insn = (struct insn){
			.at = at, .target = NO_TARGET, .reg = NO_REG, .base = NO_REG
		};
		at += decode_insn(&decoder, insn);
		if (decoder.eax == decoder.eax_before && changes_rax(insn))
			decoder.eax = -1;
	}
	return 0;
}
