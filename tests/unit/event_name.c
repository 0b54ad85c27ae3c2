// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of events: their parts, and what is refused. */
#include <string.h>

#include "check.h"
#include "process/event_name.h"

static const struct {
	const char *text;
	enum event_kind kind;
	const char *file, *group, *name;
	enum event_place by;
	uint64_t address;
} good[] = {
	{ "t:sched:sched_switch", EVENT_TRACEPOINT, "", "sched", "sched_switch" },
	{ "t:*:*", EVENT_TRACEPOINT, "", "*", "*" },
	{ "k:vfs_read", EVENT_KERNEL_FUNCTION, "", "", "vfs_read" },
	{ "k:ext4:ext4_*", EVENT_KERNEL_FUNCTION, "", "ext4", "ext4_*" },
	{ "u:libc:malloc", EVENT_USER_FUNCTION, "libc", "", "malloc" },
	{ "u:/usr/bin/x+y:main", EVENT_USER_FUNCTION, "/usr/bin/x+y", "", "main" },
	{ "u:./a.out:ns::C::f", EVENT_USER_FUNCTION, "./a.out", "", "ns::C::f" },
	{ "u:libc:0x9a0b0", EVENT_USER_FUNCTION, "libc", "", "0x9a0b0", EVENT_BY_OFFSET, 0x9a0b0 },
	{ "u:/usr/bin/x+0x1234", EVENT_USER_FUNCTION, "/usr/bin/x", "", "0x1234", EVENT_BY_VADDR,
	  0x1234 },
	{ "u:/usr/bin/g++-12+0x1f", EVENT_USER_FUNCTION, "/usr/bin/g++-12", "", "0x1f",
	  EVENT_BY_VADDR, 0x1f },
	{ "usdt:python3:python:gc__start", EVENT_USDT, "python3", "python", "gc__start" },
	{ "page-faults", EVENT_PERF, "", "", "page-faults" },
	{ "r01c2", EVENT_PERF, "", "", "r01c2" },
	{ "cycles:u", EVENT_PERF, "", "", "cycles:u" },
	{ "*malloc*", EVENT_PERF, "", "", "*malloc*" },
};

static const char *const bad[] = {
	"",
	"t:",
	"t:sched",
	"t::x",
	"t:sched:",
	"k:",
	"k:mod:",
	"u:",
	"u:libc",
	"u:libc:",
	"u::malloc",
	"u:libc:0x",
	"u:libc:0x12g",
	"u:libc:0x10000000000000000",
	"u:libc:0xffffffffffffffff",
	"usdt:",
	"usdt:x",
	"usdt:x:y",
	"usdt:x:y:",
	"usdt::y:z",
	"usdt:x::z",
};

static const struct {
	const char *text, *file, *group, *name;
} patterns[] = {
	{ "t:", "", "*", "*" },
	{ "t:sched", "", "sched", "*" },
	{ "t:sched:", "", "sched", "*" },
	{ "k:", "", "", "*" },
	{ "k:tcp_*", "", "", "tcp_*" },
	{ "u:libc", "libc", "", "*" },
	{ "usdt:x", "x", "*", "*" },
	{ "usdt:x:y", "x", "y", "*" },
	{ "", "", "", "*" },
};

int main(void)
{
	static struct event_name e;
	static char longest[EVENT_NAME_BYTES + 8];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *wrong = event_name_parse(&e, good[i].text, false);

		check(!wrong && e.kind == good[i].kind && e.by == good[i].by &&
			      e.address == good[i].address,
		      "'%s'", good[i].text);
		check(!strcmp(e.file, good[i].file) && !strcmp(e.group, good[i].group) &&
			      !strcmp(e.name, good[i].name),
		      "'%s': '%s' '%s' '%s'", good[i].text, e.file, e.group, e.name);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check(event_name_parse(&e, bad[i], false), "'%s'", bad[i]);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		check(!event_name_parse(&e, patterns[i].text, true) &&
			      !strcmp(e.file, patterns[i].file) &&
			      !strcmp(e.group, patterns[i].group) &&
			      !strcmp(e.name, patterns[i].name),
		      "listing '%s': '%s' '%s' '%s'", patterns[i].text, e.file, e.group, e.name);
	check(event_name_parse(&e, "u:", true), "a file is needed to list its functions");
	memset(longest, 'x', sizeof(longest) - 1);
	check(event_name_parse(&e, longest, false), "too long");
	longest[EVENT_NAME_BYTES - 1] = 0;
	check(!event_name_parse(&e, longest, false), "as long as it may be");
	check(event_name_is_pattern("a*") && event_name_is_pattern("?") &&
	      !event_name_is_pattern("a[b]") && !event_name_is_pattern(""));
	return check_done();
}
