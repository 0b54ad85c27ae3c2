// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/machine.h"

/* None is known. Frames of scalable vectors count in the vector length, which no rule has. */
void machine_cfa_expression(struct eh_rule *rule, struct cursor *c, uint8_t reg, int64_t offset)
{
	(void)rule, (void)c, (void)reg, (void)offset;
}
