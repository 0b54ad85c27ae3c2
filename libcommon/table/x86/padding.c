// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/* the bytes of the nop at code[0 .. size), 0: it is none (Intel SDM vol. 2B, NOP, table 4-12) */
static uint64_t nop_bytes(const uint8_t *code, uint64_t size)
{
	/* of 0f 1f's operand by ModRM's mode, ModRM itself included, SIB apart */
	static const uint8_t operand_bytes[] = { 1, 2, 5, 1 };
	uint64_t at = 0;

	while (at < size && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < size && code[at] == 0x90)
		return at + 1;
	if (at + 3 > size || code[at] != 0x0f || code[at + 1] != 0x1f)
		return 0;
	at += 2;
	return at + operand_bytes[code[at] >> 6] + (code[at] >> 6 != 3 && (code[at] & 7) == 4);
}

bool machine_is_padding(const uint8_t *code, uint64_t size)
{
	uint64_t at = 0;

	while (at < size) {
		uint64_t nop = nop_bytes(code + at, size - at);

		if (!nop && code[at] && code[at] != 0xcc) /* zeros, int3 */
			return false;
		at += nop ? nop : 1;
	}
	return true;
}
