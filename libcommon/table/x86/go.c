// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/*
 * Two forms: sub $frame,%rsp; mov %rbp,frame-8(%rsp); lea ... - and from Go 1.21 on, where the
 * frame is first of 8 bytes, push %rbp; mov %rsp,%rbp; sub ...
 */
bool machine_saves_fp(const uint8_t *code, uint64_t size, uint64_t at, uint32_t frame_bytes,
		      uint64_t *from)
{
	struct cursor c = cursor_over(code, size);
	uint32_t displacement;
	uint8_t modrm;

	if (frame_bytes == 8 && at > 0 && at <= size && code[at - 1] == 0x55) { /* push %rbp */
		*from = at;
		return true;
	}
	cursor_bytes(&c, at);
	if (cursor_u8(&c) != 0x48 || cursor_u8(&c) != 0x89) /* mov r64,r/m64 */
		return false;
	modrm = cursor_u8(&c);
	if (cursor_u8(&c) != 0x24) /* SIB: %rsp */
		return false;
	switch (modrm) {
	case 0x2c:
		displacement = 0;
		break;
	case 0x6c:
		displacement = cursor_u8(&c);
		break;
	case 0xac:
		displacement = cursor_u32(&c);
		break;
	default:
		return false;
	}
	*from = size - cursor_left(&c);
	return !c.bad && displacement == frame_bytes - 8;
}

/* A call pushes the return address, and the handler pushes no more. */
void machine_add_interrupted(struct eh_rule *rule)
{
	(void)rule;
}

bool machine_is_return(const uint8_t *code, uint64_t size, uint64_t at)
{
	return at < size && code[at] == 0xc3;
}

bool machine_is_syscall(const uint8_t *code, uint64_t size, uint64_t at)
{
	return at + 2 <= size && code[at] == 0x0f && code[at + 1] == 0x05;
}

bool machine_aligns_sp(const uint8_t *code, uint64_t size, uint64_t at, uint8_t *from)
{
	static const uint8_t and[] = { 0x48, 0x83, 0xe4, 0xf0 }; /* and $-16,%rsp */

	*from = REG_SP;
	return at + sizeof(and) <= size && !memcmp(code + at, and, sizeof(and));
}
