// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments of functions and of USDT probes: AAPCS64, 6.8.2; the operands of the assembler. */
#include <stdio.h>
#include <string.h>

#include "table/machine.h"

/* Where a register is in struct user_pt_regs. */
#define AT(register) ((register) * 8)

struct event_argument machine_parameter(unsigned number)
{
	return (struct event_argument){ .at = AT(number), .bytes = 8, .is_signed = true };
}

/* "x0", "w12", "sp" */
static bool find_register(const char *name, uint16_t *at)
{
	unsigned number;
	int end = 0;

	if (!strcmp(name, "sp")) {
		*at = AT(EH_SP);
		return true;
	}
	if ((name[0] != 'x' && name[0] != 'w') || sscanf(name + 1, "%2u%n", &number, &end) != 1 ||
	    name[1 + end] || number >= EH_SP)
		return false;
	*at = AT(number);
	return true;
}

/* "w0", "[sp, -16]", "[x1]", "7" */
int machine_place(const char *text, struct event_argument *argument)
{
	int offset = 0, end = 0;
	char name[8];

	if (sscanf(text, "[%7[a-z0-9], %d]%n", name, &offset, &end) == 2 && end) {
		argument->place = ARGUMENT_IN_MEMORY;
	} else if (sscanf(text, "[%7[a-z0-9]]%n", name, &end) == 1 && end) {
		argument->place = ARGUMENT_IN_MEMORY;
	} else if (sscanf(text, "%d%n", &offset, &end) == 1) {
		argument->place = ARGUMENT_CONSTANT;
	} else if (sscanf(text, "%7[a-z0-9]%n", name, &end) == 1) {
		argument->place = ARGUMENT_IN_CONTEXT;
	} else {
		return 0;
	}
	argument->offset = offset;
	return argument->place == ARGUMENT_CONSTANT || find_register(name, &argument->at) ? end : 0;
}
