// SPDX-License-Identifier: GPL-2.0-or-later
/* What the summary's line says is lost, and of what that is. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/stack_summary.h"

/* the line ends like this */
static void ends(bool of_some, uint64_t samples, uint64_t lost, uint64_t lost_on_machine,
		 const char *end)
{
	const struct measure measure = { .value = measure_count, .counted = "samples" };
	const struct loss losses[] = {
		{ "lost_unseen", lost_on_machine, NULL, .lost = true, .of_machine = true },
		{ "lost_no_room", lost, NULL, .lost = true },
	};
	struct stack_summary s = {
		.tool = "test",
		.measure = &measure,
		.seconds = 1,
		.losses = losses,
		.nr_losses = 2,
		.of_some = of_some,
		.sum.count = samples,
	};
	char *text, expected[200];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	stack_summary_print(out, &s);
	fclose(out);
	snprintf(expected, sizeof(expected), "test: %llu samples in 1.0 s%s\n",
		 (unsigned long long)samples, end);
	check(!strcmp(text, expected), "%s", text);
	free(text);
}

int main(void)
{
	ends(false, 90, 4, 6, ", 10 (10.0 %) lost");
	ends(true, 90, 10, 0, ", 10 (10.0 %) lost");
	/* what others lost has no share in the samples of some */
	ends(true, 0, 0, 5, ", 5 lost on the whole machine");
	ends(true, 90, 10, 5, ", 10 (10.0 %) lost, 5 lost on the whole machine");
	ends(true, 90, 0, 0, "");
	return check_done();
}
