// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents for a browser keep their size, whatever a single stack has. */
#include "live/slices.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

#define NR_FRAMES 16384
#define MAX_BYTES 100000

static const struct measure measure = { .value = measure_count, .counted = "samples" };

/* the text of the document's array, without its end */
static const char *part_of(const char *json, const char *name)
{
	char start[32];
	const char *at;

	snprintf(start, sizeof(start), "\"%s\":[", name);
	at = strstr(json, start);
	return at ? at + strlen(start) : "";
}

static void test_deep(void)
{
	struct stack_frames *user = calloc(1, sizeof(*user) + NR_FRAMES * sizeof(user->frames[0]));
	struct stack_entry entry = { .key = { .user_stack = 1, .pid = 7, .comm = "deep" },
				     .value.count = 3,
				     .user = user };
	struct live_shown shown = { .summary = { .tool = "test", .measure = &measure },
				    .entries = &entry,
				    .nr = 1,
				    .nr_all = 1 };
	struct history_part last = {};
	struct slices *slices = slices_new();
	int others = 0, itself = 0, error = 0;
	size_t largest = 0;

	user->nr = NR_FRAMES;
	for (uint32_t i = 0; i < NR_FRAMES; i++)
		user->frames[i] = FRAME_ADDRESS | i << 4;
	for (int i = 0; i < 100 && !itself && !error; i++) {
		char *json;
		size_t bytes;
		bool begins;
		FILE *out = open_memstream(&json, &bytes);

		error = slices_print(slices, out, &shown, &last, 1, MAX_BYTES, &begins);
		fclose(out);
		others += !strncmp(part_of(json, "values"), "0,3,", 4);
		itself += !strncmp(part_of(json, "values"), "1,3,", 4);
		largest = bytes > largest ? bytes : largest;
		free(json);
	}
	check(!error && largest < 2 * MAX_BYTES, "%zu bytes", largest);
	check(others > 1 && itself == 1,
	      "it is one of the others in %d documents, until its frames are all there", others);
	slices_free(slices);
	free(user);
}

int main(void)
{
	test_deep();
	return check_done();
}
