// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers with their nouns, as summaries say them. */
#include <string.h>

#include "check.h"
#include "report/counted.h"

static const struct {
	const char *what, *one, *two;
} nouns[] = {
	{ "samples", "1 sample", "2 samples" },
	{ "I/Os", "1 I/O", "2 I/Os" },
	{ "times", "1 time", "2 times" },
	{ "processes", "1 process", "2 processes" },
	{ "more processes", "1 more process", "2 more processes" },
	{ "addresses", "1 address", "2 addresses" },
	{ "user stacks", "1 user stack", "2 user stacks" },
	{ "samples lost by this tool: no room", "1 sample lost by this tool: no room",
	  "2 samples lost by this tool: no room" },
	{ "slow calls not printed: too many", "1 slow call not printed: too many",
	  "2 slow calls not printed: too many" },
	{ "nothing to cut", "1 nothing to cut", "2 nothing to cut" },
	{ "", "1 ", "2 " },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++) {
		check(!strcmp(counted(1, nouns[i].what).text, nouns[i].one), "'%s'", nouns[i].what);
		check(!strcmp(counted(2, nouns[i].what).text, nouns[i].two), "'%s'", nouns[i].what);
	}
	check(!strcmp(counted(0, "samples").text, "0 samples"));
	return check_done();
}
