// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/counted.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool ends_word(char c)
{
	return strchr(" ,:;", c); /* and the end */
}

struct counted counted(uint64_t nr, const char *what)
{
	const char *end = what;
	struct counted c;
	int cut = 0;

	while (*end && !(*end == 's' && ends_word(end[1])))
		end++;
	if (nr == 1 && *end)
		cut = end - what > 3 && !strncmp(end - 3, "sse", 3) ? 2 : 1;
	if (*end)
		end++;
	snprintf(c.text, sizeof(c.text), "%" PRIu64 " %.*s%s", nr, (int)(end - what) - cut, what,
		 end);
	return c;
}
