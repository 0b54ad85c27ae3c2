// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/*
 * Where to go on behind the first byte of the first direct call from i on, with the callee's offset
 * in *to, which may lie outside; 0: there is none
 */
static uint64_t next_call(const uint8_t *code, uint64_t size, uint64_t i, uint64_t *to)
{
	for (; i + 5 <= size; i++) {
		int32_t displacement;

		if (code[i] != 0xe8) /* call rel32 */
			continue;
		memcpy(&displacement, code + i + 1, sizeof(displacement));
		*to = i + 5 + displacement;
		return i + 1;
	}
	return 0;
}

/* Is code[at] the padding between a call that does not return and the next function? */
static bool is_padded(const uint8_t *code, uint64_t at, uint64_t end, uint64_t vaddr)
{
	uint64_t bytes = -(vaddr + at) % FUNCTION_ALIGNMENT;

	return bytes && bytes <= end - at && machine_is_padding(code + at, bytes);
}

/*
 * Where the entry code ends by its own instructions: glibc's (sysdeps/x86_64/start.S) with call
 * *__libc_start_main@GOTPCREL(%rip); hlt, ld.so's with a jump to the program. None of these ends it
 * where a branch before has led further. *call: the offset behind the first call, or the end.
 */
static uint64_t end_by_instructions(const uint8_t *code, uint64_t entry, uint64_t end,
				    uint64_t vaddr, uint64_t *call)
{
	struct machine_memory memory = {};
	uint64_t at = entry, reached = entry;

	*call = end;
	while (at < end) {
		struct machine_step step;
		size_t bytes = machine_step(code + at, end - at, at, &memory, &step);

		if (!bytes)
			break;
		at += bytes;
		if (step.calls && at < *call)
			*call = at;
		if (step.way == WAY_BRANCH && step.to > reached && step.to < end)
			reached = step.to;
		if (at > reached && ((step.way != WAY_ON && step.way != WAY_BRANCH) ||
				     (step.calls && is_padded(code, at, end, vaddr))))
			break;
	}
	*call = *call < at ? *call : at;
	return at;
}

/*
 * A callee is another function, and is no outermost frame. It may lie right behind the entry code,
 * if that ends with a call that does not return: musl's crt/x86_64/crt_arch.h calls _start_c, which
 * has no FDE either.
 */
uint64_t machine_entry_end(const uint8_t *code, uint64_t size, uint64_t vaddr, uint64_t entry,
			   uint64_t end)
{
	uint64_t call, to;

	end = end_by_instructions(code, entry, end, vaddr, &call);
	for (uint64_t i = 0; call < end && (i = next_call(code, size, i, &to));)
		if (to >= call && to < end)
			end = to;
	return end;
}

size_t machine_next_address(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			    uint64_t *to)
{
	for (size_t i = from; i + 7 <= size; i++) {
		int32_t displacement;

		/* lea disp32(%rip), r64 */
		if ((code[i] & 0xfb) != 0x48 || code[i + 1] != 0x8d || (code[i + 2] & 0xc7) != 0x05)
			continue;
		memcpy(&displacement, code + i + 3, sizeof(displacement));
		*to = vaddr + i + 7 + displacement;
		return i + 7;
	}
	return 0;
}

size_t machine_next_branch(const uint8_t *code, size_t size, size_t from, uint64_t vaddr,
			   uint64_t *to)
{
	for (size_t i = from; i + 6 <= size; i++) {
		int32_t displacement;

		if (code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80) /* jcc rel32 */
			continue;
		memcpy(&displacement, code + i + 2, sizeof(displacement));
		*to = vaddr + i + 6 + displacement;
		return i + 6;
	}
	return 0;
}
