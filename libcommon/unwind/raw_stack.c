// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_stack.h"

#include <string.h>

#define PAGE_BYTES 4096
/* bits in raw_record.missing */
#define MAX_MISSING 32

/* How many of the `bytes` at stack_addr + at are in the record, before its end or a missing page. */
static uint32_t bytes_there(const struct raw_record *raw, uint64_t at, uint32_t bytes)
{
	uint64_t in_page = raw->stack_addr % PAGE_BYTES;
	uint64_t end = at + bytes < raw->stack_bytes ? at + bytes : raw->stack_bytes;

	for (uint64_t page = (in_page + at) / PAGE_BYTES; page * PAGE_BYTES < in_page + end; page++)
		if (page < MAX_MISSING && raw->missing >> page & 1)
			return page * PAGE_BYTES <= in_page + at ? 0 : page * PAGE_BYTES - in_page - at;
	return end - at;
}

static uint32_t read_data(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct raw_record *raw = arg;
	uint64_t at = addr - raw->stack_addr;

	if (addr < raw->stack_addr || at >= raw->stack_bytes)
		return 0;
	bytes = bytes_there(raw, at, bytes);
	memcpy(to, (const char *)(raw + 1) + at, bytes);
	return bytes;
}

struct host_registers raw_stack_registers(const struct raw_record *raw)
{
	struct host_registers registers = { .ip = raw->ip, .in_syscall = raw->syscall >= 0 };

	memcpy(registers.reg, raw->reg, sizeof(registers.reg));
	return registers;
}

struct host_memory raw_stack_memory(const struct raw_record *raw)
{
	return (struct host_memory){ .read = read_data, .arg = (void *)raw };
}
