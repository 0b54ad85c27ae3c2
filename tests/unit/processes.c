// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of processes after this and that event; expected values are drawn by hand beside each. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/processes.h"
#include "check.h"

static struct processes all;

/* what the observer is told since heard() was last called: "forked 1 2, invalidated 2, ..." */
static char told[256];

static void tell(const char *what)
{
	size_t length = strlen(told);

	snprintf(told + length, sizeof(told) - length, "%s%s", length ? ", " : "", what);
}

static void invalidated(void *arg, pid_t pid)
{
	char text[64];

	snprintf(text, sizeof(text), "invalidated %s", pid == getpid() ? "self" : processes_find(arg, pid) ? "known" : "unknown");
	tell(text);
}

static void forked(void *arg, pid_t parent, pid_t child)
{
	char text[64];

	snprintf(text, sizeof(text), "forked %d %d%s", parent, child, processes_find(arg, child)->maps.nr ? "" : " without mappings");
	tell(text);
}

static void exited(void *arg, pid_t pid)
{
	char text[64];

	(void)arg;
	snprintf(text, sizeof(text), "exited %d", pid);
	tell(text);
}

static void heard(const char *expected)
{
	check(!strcmp(told, expected), "the observer heard '%s', expected '%s'", told, expected);
	told[0] = 0;
}

static void happens(enum process_event_kind kind, pid_t pid, pid_t parent, uint64_t time, uint64_t start, uint64_t end,
		    uint64_t inode)
{
	struct process_event event = {
		.kind = kind, .pid = pid, .parent = parent, .time_ns = time,
		.mapping = { .start = start, .end = end, .file_offset = 0x1000, .inode = inode, .path = inode ? "/a/file" : "" },
	};

	check(!processes_apply(&all, &event), "event %d of process %d is applied", kind, pid);
}

/* "START-END@OFFSET ..." */
static const char *maps_of(pid_t pid)
{
	const struct process *process = processes_find(&all, pid);
	static char text[512];
	size_t length = 0;

	if (!process)
		return "unknown";
	text[0] = 0;
	for (size_t i = 0; i < process->maps.nr; i++)
		length += snprintf(text + length, sizeof(text) - length, "%s%lx-%lx@%lx", i ? " " : "", process->maps.mappings[i].start,
				   process->maps.mappings[i].end, process->maps.mappings[i].file_offset);
	return text;
}

static void is(pid_t pid, const char *expected)
{
	const char *maps = maps_of(pid);

	check(!strcmp(maps, expected), "process %d: '%s', expected '%s'", pid, maps, expected);
}

static void test_mappings(void)
{
	happens(PROCESS_MAPPED, 1, 0, 1, 0x1000, 0x2000, 7);
	is(1, "unknown");	/* nobody said that it is there */
	happens(PROCESS_EXECED, 1, 0, 2, 0, 0, 0);
	is(1, "");
	happens(PROCESS_MAPPED, 1, 0, 3, 0x8000, 0xc000, 7);
	happens(PROCESS_MAPPED, 1, 0, 4, 0x1000, 0x2000, 8);
	is(1, "1000-2000@1000 8000-c000@1000");
	happens(PROCESS_UNMAPPED, 1, 0, 5, 0x9000, 0xa000, 0);
	is(1, "1000-2000@1000 8000-9000@1000 a000-c000@3000");
	happens(PROCESS_MAPPED, 1, 0, 6, 0x8800, 0xb000, 9);	/* over the end of one and the start of the next */
	is(1, "1000-2000@1000 8000-8800@1000 8800-b000@1000 b000-c000@4000");
	happens(PROCESS_MAPPED, 1, 0, 7, 0x9000, 0xa000, 0);	/* nameless, within a file: its own text */
	is(1, "1000-2000@1000 8000-8800@1000 8800-b000@1000 b000-c000@4000");
	happens(PROCESS_MAPPED, 1, 0, 8, 0x20000, 0x21000, 0);	/* nameless elsewhere: somebody's JIT */
	happens(PROCESS_UNMAPPED, 1, 0, 9, 0x8000, 0xc000, 0);
	is(1, "1000-2000@1000 20000-21000@1000");
}

static void test_fork_and_exec(void)
{
	told[0] = 0;
	happens(PROCESS_FORKED, 2, 1, 10, 0, 0, 0);
	is(2, "1000-2000@1000 20000-21000@1000");
	heard("forked 1 2");
	happens(PROCESS_UNMAPPED, 2, 0, 11, 0x20000, 0x21000, 0);
	is(2, "1000-2000@1000");
	is(1, "1000-2000@1000 20000-21000@1000");
	happens(PROCESS_EXECED, 2, 0, 12, 0, 0, 0);
	is(2, "");
	heard("invalidated known");
	happens(PROCESS_EXITED, 2, 0, 13, 0, 0, 0);
	is(2, "unknown");
	heard("invalidated known, exited 2");
	happens(PROCESS_FORKED, 2, 1, 14, 0, 0, 0);	/* the number again */
	heard("forked 1 2");
	happens(PROCESS_FORKED, 2, 3, 15, 0, 0, 0);	/* and again, with no word of the exit, from somebody unknown */
	is(2, "unknown");
	heard("invalidated known, exited 2");
}

static void test_readings(void)
{
	struct process *process = processes_get(&all, getpid());
	struct process_reading reading;
	uint64_t version;

	check(process && !process_read(NULL, getpid(), &reading) && reading.maps.nr >= 3, "our own mappings can be read");
	process_take(&all, process, &reading);
	check(process->complete, "what was read is complete");
	version = process->version;
	happens(PROCESS_EXECED, getpid(), 0, process->read_ns - 1, 0, 0, 0);
	check(process->version == version, "an event before the reading is in it already");
	told[0] = 0;
	check(!process_read(NULL, getpid(), &reading), "and again");
	process_take(&all, process, &reading);
	heard("");	/* nothing has changed */
	happens(PROCESS_EVENTS_LOST, 0, 0, process->read_ns + 1, 0, 0, 0);
	check(!process->complete, "after lost events nothing is complete");
	heard("invalidated known, invalidated self");
	happens(PROCESS_EXECED, getpid(), 0, process->read_ns + 2, 0, 0, 0);
	check(process->complete && process->maps.nr == 0, "exec makes it complete again");
	heard("invalidated self");
}

int main(void)
{
	all = (struct processes){
		.all = true, .observer = { .invalidated = invalidated, .forked = forked, .exited = exited, .arg = &all },
	};
	test_mappings();
	test_fork_and_exec();
	test_readings();
	processes_free(&all);
	return check_done();
}
