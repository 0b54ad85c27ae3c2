// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_stack.h"

#include <string.h>
#include <sys/syscall.h>

#define PAGE_BYTES 4096
/* bits in raw_record.missing */
#define MAX_MISSING 64

/* one of the two pieces of a stack that the record has, and where its bytes are in there */
struct piece {
	uint64_t addr, bytes;
	uint32_t offset, first_page; /* the bit in raw_record.missing */
};

static struct piece near_piece(const struct raw_record *raw)
{
	bool cut = raw->far_at && raw->far_at < raw->stack_bytes;

	return (struct piece){ .addr = raw->stack_addr,
			       .bytes = cut ? raw->far_at : raw->stack_bytes };
}

static struct piece far_piece(const struct raw_record *raw)
{
	struct piece near = near_piece(raw);

	return (struct piece){
		.addr = raw->far_addr,
		.bytes = raw->stack_bytes - near.bytes,
		.offset = near.bytes,
		.first_page = RAW_NEAR_PAGES,
	};
}

/*
 * How many of the `bytes` at this place in the piece are there, before its end or a missing page.
 */
static uint32_t bytes_there(const struct raw_record *raw, const struct piece *piece, uint64_t at,
			    uint32_t bytes)
{
	uint64_t in_page = piece->addr % PAGE_BYTES;
	uint64_t end = at + bytes < piece->bytes ? at + bytes : piece->bytes;

	for (uint64_t page = (in_page + at) / PAGE_BYTES; page * PAGE_BYTES < in_page + end; page++)
		if (piece->first_page + page < MAX_MISSING &&
		    raw->missing >> (piece->first_page + page) & 1)
			return page * PAGE_BYTES <= in_page + at ? 0
								 : page * PAGE_BYTES - in_page - at;
	return end - at;
}

static uint32_t read_data(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct raw_record *raw = arg;
	struct piece piece = near_piece(raw);

	if (addr - piece.addr >= piece.bytes)
		piece = far_piece(raw);
	if (addr - piece.addr >= piece.bytes)
		return 0;
	bytes = bytes_there(raw, &piece, addr - piece.addr, bytes);
	memcpy(to, (const char *)(raw + 1) + piece.offset + (addr - piece.addr), bytes);
	return bytes;
}

bool raw_stack_in_exec(const struct raw_record *raw)
{
	return raw->syscall == SYS_execve || raw->syscall == SYS_execveat;
}

struct host_registers raw_stack_registers(const struct raw_record *raw)
{
	struct host_registers registers = { .ip = raw->ip,
					    .in_syscall =
						    raw->syscall >= 0 && !raw_stack_in_exec(raw),
					    .is_32bit = raw->is_32bit };

	memcpy(registers.reg, raw->reg, sizeof(registers.reg));
	return registers;
}

struct host_memory raw_stack_memory(const struct raw_record *raw)
{
	return (struct host_memory){ .read = read_data, .arg = (void *)raw };
}
