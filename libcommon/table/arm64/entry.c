// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn.h"
#include "table/machine.h"

/*
 * The entry code ends with the first instruction behind which nothing goes on, unless a branch
 * before has led further.
 */
uint64_t machine_entry_end(const uint8_t *code, uint64_t size, uint64_t vaddr, uint64_t entry,
			   uint64_t end)
{
	struct machine_memory memory = {};
	uint64_t at = entry, reached = entry;

	(void)size;
	while (at < end) {
		struct machine_step step;
		size_t bytes = machine_step(code + at, end - at, vaddr + at, &memory, &step);

		if (!bytes)
			break;
		at += bytes;
		if (step.way == WAY_BRANCH && step.to - vaddr > reached && step.to - vaddr < end)
			reached = step.to - vaddr;
		if (at > reached && step.way != WAY_ON && step.way != WAY_BRANCH)
			break;
	}
	return at;
}

/* adr, and adrp with an add to the same register right behind it */
size_t machine_next_address(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			    uint64_t *to)
{
	for (size_t at = (from + 3) & ~3UL; at + INSN_BYTES <= size; at += INSN_BYTES) {
		uint32_t insn = insn_at(code, size, at),
			 next = insn_at(code, size, at + INSN_BYTES);
		int64_t distance = insn_signed(insn, 5, 19) * 4 + (insn >> 29 & 3);

		if (IS_ADR(insn)) {
			*to = vaddr + at + distance;
			return at + INSN_BYTES;
		}
		if (IS_ADRP(insn) && (next & 0xffc00000) == 0x91000000 &&
		    INSN_REG(next, 5) == INSN_REG(insn, 0)) {
			*to = ((vaddr + at) & ~0xfffULL) + distance * 4096 + (next >> 10 & 0xfff);
			return at + 2 * INSN_BYTES;
		}
	}
	return 0;
}

size_t machine_next_branch(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			   uint64_t *to)
{
	for (size_t at = (from + 3) & ~3UL; at + INSN_BYTES <= size; at += INSN_BYTES) {
		uint32_t insn = insn_at(code, size, at);

		if (!IS_B_COND(insn) && !IS_CBZ(insn) && !IS_TBZ(insn))
			continue;
		*to = insn_target(insn, vaddr + at);
		return at + INSN_BYTES;
	}
	return 0;
}
