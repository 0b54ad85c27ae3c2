// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn.h"
#include "table/machine.h"

bool machine_is_padding(const uint8_t *code, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += INSN_BYTES) {
		uint32_t insn = insn_at(code, size, at);

		if (insn && insn != INSN_NOP) /* zeros, nops */
			return false;
	}
	return true;
}
