// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/operand.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/machine.h"

int operand_parse(const char *text, struct event_argument *argument)
{
	struct event_argument a = {};
	int bytes, end = 0;

	if (sscanf(text, "%d@%n", &bytes, &end) != 1 || !end)
		return -ENOTSUP;
	text += end;
	a.is_signed = bytes < 0;
	bytes = bytes == INT_MIN ? 0 : abs(bytes);
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return -ENOTSUP;
	a.bytes = bytes;
	end = machine_place(text, &a);
	if (!end || (text[end] && text[end] != ' '))
		return -ENOTSUP;
	*argument = a;
	return 0;
}
