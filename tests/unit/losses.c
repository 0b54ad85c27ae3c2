// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/losses.h"

static char *printed(const struct loss *losses, size_t nr, uint64_t taken)
{
	static char *text;
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	losses_print(out, "tool", losses, nr, taken);
	fclose(out);
	return text;
}

int main(void)
{
	struct loss losses[] = {
		{ "lost_a", 1, "lost by a", .lost = true },
		{ "other", 1, "others" },
		{ "lost_b", 0, "lost by b", .lost = true },
	};

	check(!losses_matter(losses, 3, 999), "one of a thousand does not matter");
	check(!strcmp(printed(losses, 3, 999), "tool: 1 other\n"),
	      "and is not printed, what is not lost is");
	check(losses_matter(losses, 3, 998), "one of 999 does");
	check(!strcmp(printed(losses, 3, 998), "tool: 1 lost by a\ntool: 1 other\n"),
	      "and is printed");
	losses[2].count = 1;
	check(losses_matter(losses, 3, 1500) && !losses_matter(losses, 3, 1998),
	      "it is the sum that counts");
	losses[0].count = losses[2].count = 0;
	check(!losses_matter(losses, 3, 0), "nothing lost of nothing");
	losses[0].count = 1;
	check(losses_matter(losses, 3, 0), "one of one");
	losses[1].lost = losses[1].of_machine = true;
	losses[1].count = 7;
	check(losses_total(losses, 3) == 8 && losses_of_machine(losses, 3) == 7,
	      "what is counted on the whole machine is of the sum");
	return check_done();
}
