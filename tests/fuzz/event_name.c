// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event's name: refused with a reason, or taken apart into parts that say the same. One without
 * a prefix is perf's: libpfm knows it, or it is none.
 */
#include "fuzz.h"
#include "process/event_name.h"
#include "process/perf_name.h"

static void check_perf_name(const struct event_name *e)
{
	struct perf_encoding encoding;

	if (e->kind == EVENT_PERF && !perf_name_encode(e->name, &encoding))
		must(*e->name && !perf_encoding_is_clock(&encoding) |
					 perf_encoding_is_software(&encoding),
		     "a clock is the kernel's");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct event_name e;
	char *text = malloc(size + 1);

	memcpy(text, bytes, size);
	text[size] = 0;
	for (int pattern = 0; pattern < 2; pattern++) {
		const char *wrong = event_name_parse(&e, text, pattern);

		if (wrong) {
			must(*wrong, "a reason");
			continue;
		}
		must(e.kind < NR_EVENT_KINDS && *e.name && e.file && e.group, "all parts");
		must(!strchr(e.file, ':'), "no colon in the file");
		must(strlen(e.file) + strlen(e.group) + strlen(e.name) <= strlen(text) + 2,
		     "no part from elsewhere");
		must(e.by == EVENT_BY_NAME ||
			     (e.kind == EVENT_USER_FUNCTION && e.address <= INT64_MAX),
		     "an address has a file");
		must(pattern || strstr(text, e.name), "the name is in the text");
		check_perf_name(&e);
	}
	free(text);
	return 0;
}
