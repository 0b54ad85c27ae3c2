// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_insns.h"
#include "table/machine.h"

/* No rules are made of instructions on this machine yet: of code without CFI, nothing is known. */
int machine_decode(struct code *code)
{
	code->nr = 0;
	return 0;
}
