// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments of functions and of USDT probes: psABI, 3.2.3; the operands of the assembler. */
#include <stdio.h>
#include <string.h>
#include <sys/reg.h>

#include "table/machine.h"

/* Where a register is in struct pt_regs, which begins as these numbers are. */
#define AT(register) ((register) * 8)

static const struct {
	const char *names[4]; /* of 8, 4, 2 and 1 bytes */
	uint8_t at;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, AT(RAX) },
	{ { "rbx", "ebx", "bx", "bl" }, AT(RBX) },
	{ { "rcx", "ecx", "cx", "cl" }, AT(RCX) },
	{ { "rdx", "edx", "dx", "dl" }, AT(RDX) },
	{ { "rsi", "esi", "si", "sil" }, AT(RSI) },
	{ { "rdi", "edi", "di", "dil" }, AT(RDI) },
	{ { "rbp", "ebp", "bp", "bpl" }, AT(RBP) },
	{ { "rsp", "esp", "sp", "spl" }, AT(RSP) },
	{ { "r8", "r8d", "r8w", "r8b" }, AT(R8) },
	{ { "r9", "r9d", "r9w", "r9b" }, AT(R9) },
	{ { "r10", "r10d", "r10w", "r10b" }, AT(R10) },
	{ { "r11", "r11d", "r11w", "r11b" }, AT(R11) },
	{ { "r12", "r12d", "r12w", "r12b" }, AT(R12) },
	{ { "r13", "r13d", "r13w", "r13b" }, AT(R13) },
	{ { "r14", "r14d", "r14w", "r14b" }, AT(R14) },
	{ { "r15", "r15d", "r15w", "r15b" }, AT(R15) },
};

struct event_argument machine_parameter(unsigned number)
{
	static const uint8_t at[NR_PARAMETERS] = { AT(RDI), AT(RSI), AT(RDX),
						   AT(RCX), AT(R8),  AT(R9) };

	return (struct event_argument){ .at = at[number], .bytes = 8, .is_signed = true };
}

static bool find_register(const char *name, uint16_t *at)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		for (size_t j = 0; j < 4; j++)
			if (!strcmp(registers[i].names[j], name)) {
				*at = registers[i].at;
				return true;
			}
	return false;
}

/* "%eax", "-16(%rbp)", "$7" */
int machine_place(const char *text, struct event_argument *argument)
{
	int offset = 0, end = 0;
	char name[8];

	if (sscanf(text, "%%%7[a-z0-9]%n", name, &end) == 1) {
		argument->place = ARGUMENT_IN_CONTEXT;
	} else if (sscanf(text, "(%%%7[a-z0-9])%n", name, &end) == 1 && end) {
		argument->place = ARGUMENT_IN_MEMORY;
	} else if (sscanf(text, "%d(%%%7[a-z0-9])%n", &offset, name, &end) == 2 && end) {
		argument->place = ARGUMENT_IN_MEMORY;
	} else if (sscanf(text, "$%d%n", &offset, &end) == 1) {
		argument->place = ARGUMENT_CONSTANT;
	} else {
		return 0;
	}
	argument->offset = offset;
	return argument->place == ARGUMENT_CONSTANT || find_register(name, &argument->at) ? end : 0;
}
