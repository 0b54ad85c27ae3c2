// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/*
 * What is called from there is another function, and is no outermost frame: musl's
 * crt/x86_64/crt_arch.h calls _start_c, which lies right behind _start and has no FDE either. So
 * the entry code ends where the first callee behind it begins. glibc's (sysdeps/x86_64/start.S) ends with
 * call *__libc_start_main@GOTPCREL(%rip); hlt.
 */
uint64_t machine_entry_bytes(const uint8_t *code, uint64_t size)
{
	for (uint64_t i = 0; i + 5 <= size; i++) {
		int32_t to;

		memcpy(&to, code + i + 1, sizeof(to));
		if (code[i] == 0xe8 && to >= 0 && i + 5 + to < size)	/* call rel32 */
			size = i + 5 + to;
		if (code[i] == 0xff && code[i + 1] == 0x15 && i + 7 <= size && code[i + 6] == 0xf4)
			size = i + 7;
	}
	return size;
}

size_t machine_next_address(const uint8_t *code, size_t size, size_t from, uint64_t vaddr, uint64_t *to)
{
	for (size_t i = from; i + 7 <= size; i++) {
		int32_t displacement;

		if ((code[i] & 0xfb) != 0x48 || code[i + 1] != 0x8d || (code[i + 2] & 0xc7) != 0x05)	/* lea disp32(%rip), r64 */
			continue;
		memcpy(&displacement, code + i + 3, sizeof(displacement));
		*to = vaddr + i + 7 + displacement;
		return i + 7;
	}
	return 0;
}

size_t machine_next_branch(const uint8_t *code, size_t size, size_t from, uint64_t vaddr, uint64_t *to)
{
	for (size_t i = from; i + 6 <= size; i++) {
		int32_t displacement;

		if (code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80)	/* jcc rel32 */
			continue;
		memcpy(&displacement, code + i + 2, sizeof(displacement));
		*to = vaddr + i + 6 + displacement;
		return i + 6;
	}
	return 0;
}
