// SPDX-License-Identifier: GPL-2.0-or-later
/* Where an instruction leads in a function. */
#include "insn.h"
#include "table/machine.h"

static void set_way(struct machine_step *step, uint32_t insn, uint64_t vaddr,
		    const struct machine_memory *memory)
{
	uint32_t reg = INSN_REG(insn, 5);

	if (IS_TRAP(insn)) {
		step->way = WAY_STOP;
	} else if (IS_RET(insn)) {
		step->way = WAY_RETURN;
	} else if (IS_B(insn)) {
		step->way = WAY_JUMP;
		step->to = insn_target(insn, vaddr);
	} else if (IS_B_COND(insn) || IS_CBZ(insn) || IS_TBZ(insn)) {
		step->way = WAY_BRANCH;
		step->to = insn_target(insn, vaddr);
	} else if (IS_BR(insn)) {
		step->way = WAY_ELSEWHERE;
		if (memory->words >> reg & 1)
			step->way = WAY_EITHER;
		if (memory->sums >> reg & 1)
			step->way = WAY_SWITCH;
	} else {
		step->way = WAY_ON;
		step->calls = IS_BL(insn) || IS_BLR(insn) || insn == INSN_SVC;
	}
}

/* add of two registers; ldr of a register by the sum of two */
static void remember(struct machine_memory *memory, uint32_t insn)
{
	uint32_t bit = 1u << INSN_REG(insn, 0);

	if (IS_BL(insn) || IS_BLR(insn))
		*memory = (struct machine_memory){};
	memory->sums &= ~bit;
	memory->words &= ~bit;
	if ((insn & 0xff200000) == 0x8b000000 || (insn & 0xffe00000) == 0x8b200000)
		memory->sums |= bit;
	if ((insn & 0xffe00c00) == 0xf8600800)
		memory->words |= bit;
}

size_t machine_step(const uint8_t *code, size_t size, uint64_t vaddr, struct machine_memory *memory,
		    struct machine_step *step)
{
	uint32_t insn = insn_at(code, size, 0);
	int64_t distance = insn_signed(insn, 5, 19) * 4 + (insn >> 29 & 3);

	*step = (struct machine_step){ .way = WAY_STOP };
	if (size < INSN_BYTES)
		return 0;
	set_way(step, insn, vaddr, memory);
	if (IS_ADR(insn))
		step->data = vaddr + distance;
	if (IS_ADRP(insn))
		step->data = (vaddr & ~0xfffULL) + distance * 4096;
	remember(memory, insn);
	return INSN_BYTES;
}

/*
 * A probe between an exclusive load and its store makes the store fail each time: the program tries
 * for ever.
 */
bool machine_is_unprobeable(const uint8_t *code, size_t size, size_t at)
{
	size_t before = at < MACHINE_BEFORE ? at : MACHINE_BEFORE;

	if (IS_LDXR_OR_STXR(insn_at(code, size, at)))
		return true;
	if (IS_RET(insn_at(code, size, at)))
		return false;
	for (size_t back = INSN_BYTES; back <= before; back += INSN_BYTES) {
		uint32_t insn = insn_at(code, size, at - back);

		if (IS_LDXR_OR_STXR(insn))
			return IS_LDXR(insn);
		if (IS_RET(insn) || IS_B(insn) || IS_BR(insn))
			return false;
	}
	return false;
}
