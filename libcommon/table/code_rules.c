// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_rules.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* what an instruction does to registers that a rule may speak of */
enum effect {
	NOTHING,
	RETURN,		/* also a tail call */
	STOP,		/* nothing comes next, or nobody knows what */
	INDIRECT,	/* a jump to where a register or a table says */
	JUMP,		/* to target */
	BRANCH,		/* to target, or on */
	CALL,
	SET,		/* reg = base + displacement */
	LOAD,		/* reg = *(base + displacement) */
	STORE,		/* *(base + displacement) = reg */
	PUSH, POP,	/* reg */
	LEAVE,
};

#define NO_REG 16

struct insn {
	uint32_t at, target;	/* target: number of an instruction */
	int32_t displacement;
	uint16_t overwritten;	/* registers, besides what the effect says; bits by DWARF number */
	uint8_t effect, reg, base;	/* DWARF numbers; NO_REG: something else */
	bool padding;
	bool jumped_to, called;		/* from this code; called: a function's first instruction */
	struct eh_rule rule;	/* before it: RULE_NONE, nothing is known yet; RULE_UNSUPPORTED, ways disagree */
};

struct code {
	const uint8_t *bytes;
	size_t size;
	uint32_t alignment;		/* the address of bytes[0], modulo 16 */
	struct insn *insns;
	size_t nr, max;
	size_t nr_returns, nr_popping;	/* popping: ret $n */
	int64_t eax, eax_before;	/* the constant that this instruction, and the one before, moves into it; or -1 */
};

/* ---- decoding ---- */

static uint8_t dwarf_number(ZydisRegister reg)
{
	static const uint8_t numbers[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
	int id;

	if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15)
		return NO_REG;
	id = reg - ZYDIS_REGISTER_RAX;
	return numbers[id];
}

static uint8_t whole_register(const ZydisDecodedOperand *o)
{
	return dwarf_number(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value));
}

/* a 64-bit register by itself */
static uint8_t plain_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? dwarf_number(o->reg.value) : NO_REG;
}

/* base + displacement and nothing else */
static bool plain_address(const ZydisDecodedOperand *o, struct insn *insn)
{
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.index != ZYDIS_REGISTER_NONE || o->mem.disp.value < INT32_MIN ||
	    o->mem.disp.value > INT32_MAX || o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	insn->base = dwarf_number(o->mem.base);
	insn->displacement = o->mem.disp.value;
	return insn->base != NO_REG;
}

/* reg = base + displacement, or from or to memory; false where it is another kind of move */
static bool decode_move(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o, struct insn *insn)
{
	uint8_t to = plain_register(&o[0]);

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (to != NO_REG && plain_register(&o[1]) != NO_REG) {
			insn->effect = SET;
			insn->base = plain_register(&o[1]);
			insn->displacement = 0;
		} else if (to != NO_REG && plain_address(&o[1], insn)) {
			insn->effect = LOAD;
		} else if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && plain_address(&o[0], insn)) {
			insn->effect = STORE;
			to = plain_register(&o[1]);
		} else {
			return false;
		}
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (to == NO_REG || !plain_address(&o[1], insn))
			return false;
		insn->effect = SET;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (to == NO_REG || o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || o[1].imm.value.s <= INT32_MIN ||
		    o[1].imm.value.s > INT32_MAX)
			return false;
		insn->effect = SET;
		insn->base = to;
		insn->displacement = d->mnemonic == ZYDIS_MNEMONIC_ADD ? o[1].imm.value.s : -o[1].imm.value.s;
		break;
	default:
		return false;
	}
	insn->reg = to;
	return true;
}

/* does the instruction before this one end an epilogue? */
static bool gives_frame_up(const struct code *c, const ZydisDecodedOperand *to)
{
	const struct insn *before = c->nr ? &c->insns[c->nr - 1] : NULL;

	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.index != ZYDIS_REGISTER_NONE)
		return false;	/* through a table: a switch */
	if (before && before->effect == POP && before->reg != NO_REG && before->reg == plain_register(to))
		return false;	/* that was the return address */
	return before && (before->effect == POP || before->effect == LEAVE ||
			  (before->effect == SET && before->reg == EH_RSP && before->base == EH_RSP && before->displacement > 0));
}

/* a jump: its target, an offset in the code, stays in .target until all is decoded */
static void decode_jump(const struct code *c, const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o, struct insn *insn)
{
	bool always = d->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	int64_t to;

	if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && o[0].mem.base == ZYDIS_REGISTER_RIP) {
		insn->effect = RETURN;	/* through the GOT */
	} else if (o[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !o[0].imm.is_relative) {
		insn->effect = gives_frame_up(c, &o[0]) ? RETURN : INDIRECT;
	} else {
		to = (int64_t)insn->at + d->length + o[0].imm.value.s;
		if (to < 0 || to >= (int64_t)c->size) {
			insn->effect = always ? RETURN : NOTHING;
		} else {
			insn->effect = always ? JUMP : BRANCH;
			insn->target = to;
		}
	}
}

#define NO_TARGET UINT32_MAX

static uint32_t call_target(const struct code *c, const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o, const struct insn *insn)
{
	int64_t to = (int64_t)insn->at + d->length + o[0].imm.value.s;

	return o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].imm.is_relative && to >= 0 && to < (int64_t)c->size ? to : NO_TARGET;
}

#define CALLEE_SAVED (1u << EH_RBX | 1u << EH_RBP | 1u << EH_RSP | 0xfu << EH_R12)
#define CALLER_SAVED (0xffff & ~CALLEE_SAVED)

/* system calls that do not return (Linux x86-64) */
static bool is_final(int64_t call)
{
	return call == 15 || call == 60 || call == 231;	/* rt_sigreturn, exit, exit_group */
}

static void decode_effect(struct code *c, const ZydisDecodedInstruction *d, const ZydisDecodedOperand *o, struct insn *insn)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		insn->effect = d->operand_count_visible ? STOP : RETURN;
		c->nr_returns++;
		c->nr_popping += insn->effect == STOP;
		return;
	case ZYDIS_MNEMONIC_SYSCALL:
		if (is_final(c->eax_before)) {
			insn->effect = STOP;
			return;
		}
		break;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		insn->effect = STOP;
		return;
	case ZYDIS_MNEMONIC_CALL:
		insn->effect = CALL;
		insn->overwritten = CALLER_SAVED;
		insn->target = call_target(c, d, o, insn);
		return;
	case ZYDIS_MNEMONIC_XCHG:	/* 66 90 */
	case ZYDIS_MNEMONIC_NOP:
		insn->padding = d->mnemonic == ZYDIS_MNEMONIC_NOP || (o[0].size == 16 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
								      o[1].type == o[0].type && o[0].reg.value == o[1].reg.value);
		if (insn->padding)
			return;
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		insn->effect = LEAVE;
		return;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
		if (o[0].size != 64 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			insn->effect = STOP;	/* push %ax */
			return;
		}
		insn->effect = d->mnemonic == ZYDIS_MNEMONIC_PUSH ? PUSH : POP;
		insn->reg = plain_register(&o[0]);
		return;
	default:
		break;
	}
	if (d->meta.category == ZYDIS_CATEGORY_UNCOND_BR || d->meta.category == ZYDIS_CATEGORY_COND_BR) {
		decode_jump(c, d, o, insn);
		return;
	}
	if (decode_move(d, o, insn))
		return;
	if (d->mnemonic == ZYDIS_MNEMONIC_MOV && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && whole_register(&o[0]) == 0 &&
	    o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		c->eax = o[1].imm.value.s;
	for (int i = 0; i < d->operand_count; i++)
		if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER && o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			uint8_t reg = whole_register(&o[i]);

			if (reg != NO_REG)
				insn->overwritten |= 1u << reg;
		}
}

/* or may have, on the way to the next instruction */
static bool writes_rax(const struct insn *insn)
{
	return insn->overwritten & 1 || (insn->reg == 0 && (insn->effect == SET || insn->effect == LOAD || insn->effect == POP)) ||
	       (insn->effect != NOTHING && insn->effect < SET && insn->effect != BRANCH);
}

/* linkers fill up sections with zeros: there, and only where no instruction can follow, is one not an instruction */
static bool is_filler(const struct code *c, size_t at)
{
	enum effect before = c->nr ? c->insns[c->nr - 1].effect : STOP;

	return !c->bytes[at] && (before == STOP || before == INDIRECT || before == RETURN || before == JUMP);
}

static int decode(struct code *c)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -ENOMEM;
	for (size_t at = 0; at < c->size;) {
		struct insn *insn;

		if (c->nr == c->max) {
			size_t max = c->max ? c->max * 2 : c->size / 8 + 64;
			struct insn *more = reallocarray(c->insns, max, sizeof(*more));

			if (!more)
				return -ENOMEM;
			c->insns = more;
			c->max = max;
		}
		c->eax_before = c->eax;
		insn = &c->insns[c->nr];
		*insn = (struct insn){ .at = at, .reg = NO_REG, .base = NO_REG };
		if (!is_filler(c, at) &&
		    ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, c->bytes + at, c->size - at, &d, operands))) {
			decode_effect(c, &d, operands, insn);
			at += d.length;
		} else {
			insn->effect = STOP;
			at++;
		}
		if (c->eax == c->eax_before && writes_rax(insn))
			c->eax = -1;
		c->nr++;
	}
	return 0;
}

/* the number of the instruction at this offset, or nr where none begins there */
static size_t find_insn(const struct code *c, uint32_t at)
{
	size_t low = 0, high = c->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c->insns[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->nr && c->insns[low].at == at ? low : c->nr;
}

#define MAX_FUNCTION 1024	/* instructions from where rsp is kept to where it is restored */

/*
 * Is rsp set to what it was in this frame? From a register that is not known to hold that, it is another stack's
 * (switches of contexts), and whoever returns there did not call this.
 */
static bool stays_on_stack(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i];

	if (insn->base == EH_RSP || insn->base == EH_RBP)
		return true;
	for (size_t n = 0; insn->effect == SET && n < MAX_FUNCTION && i-- > 0 && c->insns[i].effect != RETURN; n++) {
		const struct insn *before = &c->insns[i];

		if (before->reg != insn->base)
			continue;
		if (before->effect == SET)
			return before->base == EH_RSP;
		if (before->effect == LOAD)
			return before->base == EH_RSP || before->base == EH_RBP;
	}
	return false;
}

/*
 * What a function writes to: assembly counts on that of its own helpers, where they are plain pieces of code up to a
 * return (x264's hold the stack pointer in rcx meanwhile).
 */
#define MAX_HELPER 256	/* instructions */

static uint16_t written_by(const struct code *c, size_t first)
{
	uint16_t registers = 0;

	for (size_t i = first; i < c->nr && i - first < MAX_HELPER; i++) {
		const struct insn *insn = &c->insns[i];

		if (insn->effect == RETURN)
			return registers;
		if (insn->effect == CALL || insn->effect == JUMP || insn->effect == STOP || insn->effect == INDIRECT)
			break;
		registers |= insn->overwritten;
		if ((insn->effect == SET || insn->effect == LOAD || insn->effect == POP) && insn->reg < EH_NR_REGS)
			registers |= 1u << insn->reg;
	}
	return CALLER_SAVED;
}

static void resolve_targets(struct code *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		struct insn *insn = &c->insns[i];
		size_t to;

		if ((insn->effect == SET || insn->effect == LOAD) && insn->reg == EH_RSP && !stays_on_stack(c, i))
			insn->effect = STOP;
		if (insn->effect == CALL && insn->target != NO_TARGET) {
			to = find_insn(c, insn->target);
			insn->overwritten = written_by(c, to) & CALLER_SAVED;
			insn->target = to < c->nr ? to : NO_TARGET;
			if (to < c->nr)
				c->insns[to].called = true;
		}
		if (insn->effect != JUMP && insn->effect != BRANCH)
			continue;
		to = find_insn(c, insn->target);
		insn->target = to;
		if (to < c->nr)
			c->insns[to].jumped_to = true;
		else	/* into the middle of what was decoded */
			insn->effect = STOP;
	}
}

/* ---- backwards through one instruction: the rule after it becomes the rule before it ---- */

static const struct eh_rule disagreement = { .kind = RULE_UNSUPPORTED };

static struct eh_rule rule_at_return(void)
{
	struct eh_rule rule = { .kind = RULE_REG, .cfa_reg = EH_RSP, .cfa_offset = 8, .flags = RULE_FROM_CODE };

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = -1;
	return rule;
}

static int saved_index(uint32_t reg)
{
	return reg == EH_RBX ? SAVED_RBX : reg == EH_RBP ? SAVED_RBP :
	       reg >= EH_R12 && reg < EH_NR_REGS ? SAVED_R12 + (int)reg - EH_R12 : -1;
}

/* what the caller has in it lies nowhere that is known before it is overwritten */
static void lose(struct eh_rule *rule, uint32_t reg)
{
	int i = saved_index(reg);

	if (i >= 0 && rule->saved[i] == SAVED_SAME)
		rule->saved[i] = SAVED_ODD;
}

/* where base + displacement lies in words from the CFA; false where that is not known or cannot be said */
static bool place_of(const struct eh_rule *rule, uint32_t base, int32_t displacement, int *words)
{
	int64_t bytes = (int64_t)displacement - rule->cfa_offset;

	if (rule->kind != RULE_REG || rule->cfa_reg != base || bytes % 8 || bytes / 8 <= SAVED_ODD || bytes / 8 >= 0)
		return false;
	*words = bytes / 8;
	return true;
}

static void undo_set(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int64_t offset;

	if (reg == base && !displacement)
		return;
	lose(rule, reg);
	if (rule->cfa_reg != reg)
		return;
	rule->cfa_reg = base;
	offset = (rule->kind == RULE_DEREF ? rule->deref_offset : rule->cfa_offset) + (int64_t)displacement;
	if (rule->kind == RULE_DEREF && offset == (int16_t)offset)
		rule->deref_offset = offset;
	else if (rule->kind == RULE_REG && offset == (int32_t)offset)
		rule->cfa_offset = offset;
	else
		*rule = disagreement;
}

static void undo_load(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int i = saved_index(reg), words;

	if (i >= 0 && rule->saved[i] == SAVED_SAME)
		rule->saved[i] = reg != rule->cfa_reg && place_of(rule, base, displacement, &words) ? words : SAVED_ODD;
	if (rule->cfa_reg != reg)
		return;
	if (rule->kind != RULE_REG || displacement != (int16_t)displacement) {
		*rule = disagreement;
		return;
	}
	rule->kind = RULE_DEREF;
	rule->cfa_reg = base;
	rule->deref_offset = displacement;
}

static void undo_store(struct eh_rule *rule, uint32_t reg, uint32_t base, int32_t displacement)
{
	int words;

	if (rule->kind == RULE_DEREF && rule->cfa_reg == base && rule->deref_offset == displacement) {
		if (reg == NO_REG) {
			*rule = disagreement;
			return;
		}
		rule->kind = RULE_REG;
		rule->cfa_reg = reg;
		rule->deref_offset = 0;
		return;
	}
	if (!place_of(rule, base, displacement, &words))
		return;
	for (int i = 0; i < SAVED_RA; i++)
		if (rule->saved[i] == words)
			rule->saved[i] = saved_index(reg) == i ? SAVED_SAME : SAVED_ODD;
	if (words == rule->saved[SAVED_RA])
		*rule = disagreement;
}

static void undo_overwriting(struct eh_rule *rule, uint16_t registers)
{
	if (registers >> rule->cfa_reg & 1) {
		*rule = disagreement;
		return;
	}
	for (uint32_t reg = 0; reg < EH_NR_REGS; reg++)
		if (registers >> reg & 1)
			lose(rule, reg);
}

static void undo_push(struct eh_rule *rule, uint32_t reg)
{
	int i = saved_index(reg);

	/* where that is, counted from another register, is not known: before it, that place may hold nothing yet */
	if (i >= 0 && rule->cfa_reg != EH_RSP && rule->saved[i] != SAVED_SAME)
		rule->saved[i] = SAVED_ODD;
	undo_store(rule, reg, EH_RSP, 0);
	undo_set(rule, EH_RSP, EH_RSP, -8);
}

static void undo_pop(struct eh_rule *rule, uint32_t reg)
{
	if (reg != EH_RSP)
		undo_set(rule, EH_RSP, EH_RSP, 8);
	if (reg != NO_REG)
		undo_load(rule, reg, EH_RSP, 0);
}

static void undo(struct eh_rule *rule, const struct insn *insn)
{
	if (insn->overwritten)
		undo_overwriting(rule, insn->overwritten);
	switch (insn->effect) {
	case SET:
		undo_set(rule, insn->reg, insn->base, insn->displacement);
		break;
	case LOAD:
		undo_load(rule, insn->reg, insn->base, insn->displacement);
		break;
	case STORE:
		undo_store(rule, insn->reg, insn->base, insn->displacement);
		break;
	case PUSH:
		undo_push(rule, insn->reg);
		break;
	case POP:
		undo_pop(rule, insn->reg);
		break;
	case LEAVE:
		undo_pop(rule, EH_RBP);
		undo_set(rule, EH_RSP, EH_RBP, 0);
		break;
	}
	/* the return address cannot lie below the stack pointer */
	if (rule->kind == RULE_REG && rule->cfa_reg == EH_RSP && rule->cfa_offset < 8)
		*rule = disagreement;
}

/* ---- all ways ---- */

static bool same(const struct eh_rule *a, const struct eh_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool is_known(const struct eh_rule *rule)
{
	return rule->kind != RULE_NONE && rule->kind != RULE_UNSUPPORTED;
}

/* what both say, or what one of them says if nothing is known of the other */
static struct eh_rule agreed(const struct eh_rule *a, const struct eh_rule *b)
{
	struct eh_rule rule = *a;

	if (a->kind == RULE_NONE || same(a, b))
		return *b;
	if (b->kind == RULE_NONE)
		return *a;
	if (a->kind != b->kind || a->cfa_reg != b->cfa_reg || a->cfa_offset != b->cfa_offset || a->deref_offset != b->deref_offset)
		return disagreement;
	for (int i = 0; i < SAVED_RA; i++)
		if (a->saved[i] != b->saved[i])
			rule.saved[i] = SAVED_ODD;
	return rule;
}

static bool is_aligned(const struct code *c, size_t i)
{
	return !((c->alignment + c->insns[i].at) & 15);
}

static bool is_entry(const struct eh_rule *rule)
{
	return rule->kind == RULE_REG && rule->cfa_reg == EH_RSP && rule->cfa_offset == 8;
}

/*
 * Does this call seem not to come back? Nothing says that its target returns; or another function begins behind it.
 * What comes next in memory is nothing of its own then.
 */
static bool is_last_call(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i], *next = insn + 1;

	if (insn->target != NO_TARGET && c->insns[insn->target].rule.kind == RULE_NONE)
		return true;
	return i + 1 < c->nr && (next->called || ((next->padding || is_aligned(c, i + 1)) && next->effect != RETURN && is_entry(&next->rule)));
}

static struct eh_rule rule_before(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i];
	struct eh_rule rule = { .kind = RULE_NONE };

	switch (insn->effect) {
	case RETURN:
		return rule_at_return();
	case STOP:
	case INDIRECT:
		return rule;
	case JUMP:
		return c->insns[insn->target].rule;
	}
	if (i + 1 < c->nr)
		rule = c->insns[i + 1].rule;
	if (insn->effect == BRANCH)
		return agreed(&rule, &c->insns[insn->target].rule);
	if (insn->effect == CALL && is_last_call(c, i))
		return (struct eh_rule){ .kind = RULE_NONE };
	if (is_known(&rule))
		undo(&rule, insn);
	return insn->called && is_known(&rule) && !is_entry(&rule) ? disagreement : rule;
}

/*
 * Until nothing changes. A rule only ever goes from unknown to something, loses registers, and ends as disagreement; but for
 * what a loop's way back changes, one pass is enough. Where many are not, no rule of this code is to be relied upon.
 */
#define MAX_PASSES 64

static bool settle(struct code *c)
{
	for (int pass = 0; pass < MAX_PASSES; pass++) {
		bool changed = false;

		for (size_t i = c->nr; i-- > 0;) {
			struct eh_rule rule = rule_before(c, i);

			if (same(&rule, &c->insns[i].rule))
				continue;
			c->insns[i].rule = rule;
			changed = true;
		}
		if (!changed)
			return true;
	}
	return false;
}

/* ---- functions that do not return ---- */

/* Does a function seem to begin here? Aligned, behind the end of another or padding, and with a prologue */
static bool begins_function(const struct code *c, size_t i)
{
	const struct insn *insn = &c->insns[i], *before = i ? &c->insns[i - 1] : NULL;

	if ((insn->jumped_to && !insn->called) || !is_aligned(c, i) || (before && !before->padding && before->effect != RETURN && before->effect != JUMP &&
					     before->effect != STOP && before->effect != INDIRECT && before->effect != CALL))
		return false;
	return insn->effect == PUSH && saved_index(insn->reg) >= 0;
}

#define MAX_FRAME_BYTES (1 << 30)

/* Forwards through one instruction. False: what comes next is not known. */
static bool follow(struct eh_rule *rule, const struct insn *insn)
{
	int i = saved_index(insn->reg);

	switch (insn->effect) {
	case PUSH:
		rule->cfa_offset += 8;
		if (i >= 0 && rule->saved[i] == SAVED_SAME && rule->cfa_offset / 8 < -SAVED_ODD)
			rule->saved[i] = -(rule->cfa_offset / 8);
		return true;
	case SET:
	case LOAD:
		if (insn->reg == EH_RSP && (insn->effect == LOAD || insn->base != EH_RSP))
			return false;
		if (insn->reg == EH_RSP && __builtin_sub_overflow(rule->cfa_offset, insn->displacement, &rule->cfa_offset))
			return false;
		lose(rule, insn->reg);
		return rule->cfa_offset >= 8 && rule->cfa_offset <= MAX_FRAME_BYTES;
	case NOTHING:
	case STORE:
	case BRANCH:
	case CALL:
		for (uint32_t reg = 0; reg < EH_NR_REGS; reg++)
			if (insn->overwritten >> reg & 1)
				lose(rule, reg);
		return !(insn->overwritten >> EH_RSP & 1);
	default:
		return false;
	}
}

#define MAX_FORWARD 512		/* instructions of a function that does not return */

struct forward {
	struct code *code;
	uint32_t reached[MAX_FORWARD], nr, done;	/* numbers of instructions, in the order of being reached */
};

/* false: it is too large to be followed */
static bool reach(struct forward *f, size_t i, const struct eh_rule *rule)
{
	if (i >= f->code->nr || f->code->insns[i].rule.kind != RULE_NONE)
		return true;
	if (f->nr == MAX_FORWARD)
		return false;
	f->code->insns[i].rule = *rule;
	f->reached[f->nr++] = i;
	return true;
}

/* on to what comes after it. False: to where nobody knows */
static bool pass(struct forward *f, size_t i)
{
	const struct insn *insn = &f->code->insns[i];
	struct eh_rule rule = insn->rule;

	switch (insn->effect) {
	case INDIRECT:
		return false;
	case STOP:
		return true;
	case JUMP:
		return reach(f, insn->target, &rule);
	case BRANCH:
		if (!reach(f, insn->target, &rule))
			return false;
		break;
	}
	if (insn->effect == CALL && i + 1 < f->code->nr && (f->code->insns[i + 1].padding || begins_function(f->code, i + 1)))
		return true;
	return !follow(&rule, insn) || reach(f, i + 1, &rule);
}

/*
 * No way leads from here to a return. If this is a function's first instruction, and it stays within what is known, the
 * rules follow from that: it does not return (musl's way from __libc_start_main to exit, and its threads' beginning).
 */
static void go_forward(struct code *c, size_t first)
{
	struct eh_rule entry = rule_at_return();
	struct forward f = { .code = c };
	bool known = reach(&f, first, &entry);

	while (known && f.done < f.nr)
		known = pass(&f, f.reached[f.done++]);
	for (uint32_t i = 0; !known && i < f.nr; i++)
		c->insns[f.reached[i]].rule = (struct eh_rule){ .kind = RULE_NONE };
}

/* Where functions pop their callers' arguments (V8's built-in ones do), what a call leaves of rsp is not known. A few are data. */
static bool pops_arguments(const struct code *c)
{
	return c->nr_popping > c->nr_returns / 16;
}

int code_rules(const uint8_t *bytes, size_t size, uint64_t vaddr, code_rule_fn *emit, void *arg)
{
	static const struct eh_rule unknown = { .kind = RULE_NONE, .flags = RULE_FROM_CODE };
	struct code c = { .bytes = bytes, .size = size, .alignment = vaddr & 15 };
	int error = decode(&c);

	if (!error) {
		resolve_targets(&c);
		if (!pops_arguments(&c) && settle(&c)) {
			for (size_t i = 0; i < c.nr; i++)
				if (c.insns[i].rule.kind == RULE_NONE && begins_function(&c, i))
					go_forward(&c, i);
			for (size_t i = 0; i < c.nr; i++)
				emit(arg, c.insns[i].at, is_known(&c.insns[i].rule) ? &c.insns[i].rule : &unknown);
		}
	}
	free(c.insns);
	return error;
}
