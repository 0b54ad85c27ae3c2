// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/*
 * What is called from there is another function, and is no outermost frame: musl's
 * crt/x86_64/crt_arch.h calls _start_c, which lies right behind _start and has no FDE either. So
 * the entry code ends where the first callee behind it begins.
 */
uint64_t machine_entry_bytes(const uint8_t *code, uint64_t size)
{
	for (uint64_t i = 0; i + 5 <= size; i++) {
		int32_t to;

		memcpy(&to, code + i + 1, sizeof(to));
		if (code[i] == 0xe8 && to >= 0 && i + 5 + to < size)	/* call rel32 */
			size = i + 5 + to;
	}
	return size;
}
