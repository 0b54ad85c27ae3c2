// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn.h"
#include "table/machine.h"

/* Of Go's own table, only the ends of stacks are used on this machine. */
bool machine_saves_fp(const uint8_t *code, uint64_t size, uint64_t at, uint32_t frame_bytes,
		      uint64_t *from)
{
	(void)code, (void)size, (void)at, (void)frame_bytes, (void)from;
	return false;
}

bool machine_is_return(const uint8_t *code, uint64_t size, uint64_t at)
{
	return IS_RET(insn_at(code, size, at));
}

bool machine_is_syscall(const uint8_t *code, uint64_t size, uint64_t at)
{
	return insn_at(code, size, at) == INSN_SVC;
}

/* sp always is a multiple of 16 */
bool machine_aligns_sp(const uint8_t *code, uint64_t size, uint64_t at)
{
	(void)code, (void)size, (void)at;
	return false;
}
