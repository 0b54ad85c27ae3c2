// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of processes after this and that event; expected values are drawn by hand beside
 * each.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/trust.h"
#include "unwind/processes.h"
#include "check.h"
#include "read_self.h"

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

	snprintf(text, sizeof(text), "invalidated %s",
		 pid == getpid()            ? "self"
		 : processes_find(arg, pid) ? "known"
					    : "unknown");
	tell(text);
}

static int nr_changed;

static void changed(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
	nr_changed++;
}

static void forked(void *arg, pid_t parent, pid_t child)
{
	char text[64];

	snprintf(text, sizeof(text), "forked %d %d%s", parent, child,
		 processes_find(arg, child)->maps.nr ? "" : " without mappings");
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

static void happens(enum process_event_kind kind, pid_t pid, pid_t parent, uint64_t time,
		    uint64_t start, uint64_t end, uint64_t inode)
{
	struct process_event event = {
		.kind = kind,
		.pid = pid,
		.parent = parent,
		.time_ns = time,
		.mapping = { .start = start,
			     .end = end,
			     .file_offset = 0x1000,
			     .inode = inode,
			     .path = inode ? "/a/file" : "" },
	};

	/* each of hundreds of thousands is no test by itself */
	if (processes_apply(&all, &event))
		check(false, "event %d of process %d is applied", kind, pid);
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
		length += snprintf(text + length, sizeof(text) - length, "%s%lx-%lx@%lx",
				   i ? " " : "", process->maps.mappings[i].start,
				   process->maps.mappings[i].end,
				   process->maps.mappings[i].file_offset);
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
	is(1, "unknown"); /* nobody said that it is there */
	happens(PROCESS_EXECED, 1, 0, 2, 0, 0, 0);
	is(1, "");
	happens(PROCESS_MAPPED, 1, 0, 3, 0x8000, 0xc000, 7);
	happens(PROCESS_MAPPED, 1, 0, 4, 0x1000, 0x2000, 8);
	is(1, "1000-2000@1000 8000-c000@1000");
	happens(PROCESS_UNMAPPED, 1, 0, 5, 0x9000, 0xa000, 0);
	is(1, "1000-2000@1000 8000-9000@1000 a000-c000@3000");
	/* over the end of one and the start of the next */
	happens(PROCESS_MAPPED, 1, 0, 6, 0x8800, 0xb000, 9);
	is(1, "1000-2000@1000 8000-8800@1000 8800-b000@1000 b000-c000@4000");
	/* nameless, within a file: its own text */
	happens(PROCESS_MAPPED, 1, 0, 7, 0x9000, 0xa000, 0);
	is(1, "1000-2000@1000 8000-8800@1000 8800-b000@1000 b000-c000@4000");
	/* nameless elsewhere: somebody's JIT */
	happens(PROCESS_MAPPED, 1, 0, 8, 0x20000, 0x21000, 0);
	happens(PROCESS_UNMAPPED, 1, 0, 9, 0x8000, 0xc000, 0);
	is(1, "1000-2000@1000 20000-21000@1000");
	nr_changed = 0;
	happens(PROCESS_UNMAPPED, 1, 0, 9, 0x8000, 0xc000, 0);
	check(!nr_changed, "nothing was mapped there");
	happens(PROCESS_UNMAPPED, 1, 0, 9, 0x20000, 0x21000, 0);
	check(nr_changed == 1, "the observer heard of %d changes", nr_changed);
	happens(PROCESS_MAPPED, 1, 0, 9, 0x20000, 0x21000, 0);
}

/* the PIDs of the programs that have begun after this one, in the order of their beginnings */
static void are_after(uint64_t program, const char *expected)
{
	char pids[256] = "";

	for (struct process *p = processes_after(&all, program); p; p = p->next)
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), " %d", p->pid);
	check(!strcmp(pids, expected), "after %d:%s, expected%s", (int)program, pids, expected);
}

static void test_programs(void)
{
	struct processes none = {};
	uint64_t seen = all.nr_programs;

	check(!processes_after(&none, 0));
	are_after(0, " 1");
	are_after(seen, "");
	happens(PROCESS_EXECED, 21, 0, 10, 0, 0, 0);
	happens(PROCESS_EXECED, 22, 0, 10, 0, 0, 0);
	happens(PROCESS_EXECED, 23, 0, 10, 0, 0, 0);
	are_after(seen, " 21 22 23");
	are_after(processes_find(&all, 22)->program, " 23");
	happens(PROCESS_EXECED, 21, 0, 11, 0, 0, 0);
	happens(PROCESS_EXITED, 22, 0, 11, 0, 0, 0);
	are_after(0, " 1 23 21");
	happens(PROCESS_EXITED, 21, 0, 12, 0, 0, 0);
	happens(PROCESS_EXITED, 23, 0, 12, 0, 0, 0);
	are_after(seen, "");
	are_after(0, " 1");
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
	happens(PROCESS_FORKED, 2, 1, 14, 0, 0, 0); /* the number again */
	heard("forked 1 2");
	/* and again, with no word of the exit, from somebody unknown */
	happens(PROCESS_FORKED, 2, 3, 15, 0, 0, 0);
	is(2, "unknown");
	heard("invalidated known, exited 2");
}

static void test_readings(void)
{
	struct process *process = processes_get(&all, getpid());
	const struct process_image image = {};
	uint64_t version;

	check(process && read_self(&all, process_asked(&all, process, 0), &image) == process &&
		      process->maps.nr >= 3,
	      "our own mappings can be read");
	check(process->complete, "what was read is complete");
	version = process->version;
	happens(PROCESS_EXECED, getpid(), 0, process->read_ns - 1, 0, 0, 0);
	check(process->version == version, "an event before the reading is in it already");
	told[0] = 0;
	check(read_self(&all, process_asked(&all, process, 0), &image) == process, "and again");
	heard(""); /* nothing has changed */
	happens(PROCESS_EVENTS_LOST, 0, 0, process->read_ns + 1, 0, 0, 0);
	check(!process->complete, "after lost events nothing is complete");
	heard(""); /* what is published is right until the kernel counts a change */
	happens(PROCESS_MAPPED, 4000001, 0, process->read_ns + 1, 0x1000, 0x2000, 1);
	check(processes_get(&all, 4000001));
	happens(PROCESS_EVENTS_LOST, 0, 0, process->read_ns + 1, 0, 0, 0);
	check(!processes_find(&all, 4000001), "whose end was lost is forgotten");
	heard("invalidated known, exited 4000001");
	happens(PROCESS_EXECED, getpid(), 0, process->read_ns + 2, 0, 0, 0);
	check(process->complete && process->maps.nr == 0, "exec makes it complete again");
	heard("invalidated self");
}

/* a reading that comes while events go on */
static void test_later(void)
{
	struct process *process = processes_get(&all, 5);
	struct proc_maps maps = {};
	uint64_t tag, old;

	old = process_asked(&all, process, 3);
	tag = process_asked(&all, process, 3);
	happens(PROCESS_MAPPED, 5, 0, process->asked_ns + UINT64_C(20000000), 0x8000, 0x9000, 2);
	happens(PROCESS_UNMAPPED, 5, 0, process->asked_ns + UINT64_C(20000001), 0x1000, 0x2000, 0);
	check(!proc_maps_append(&maps, &(struct proc_mapping){ .start = 0x1000,
							       .end = 0x3000,
							       .inode = 1,
							       .path = "/a" }));
	check(!processes_read(&all, old, 0, &(struct proc_maps){}, &(struct process_image){}),
	      "not that one");
	check(processes_read(&all, tag, 0, &maps, &(struct process_image){ .tgid = 5 }) ==
		      process &&
	      process->complete);
	is(5, "2000-3000@1000 8000-9000@1000");
	check(!process->asked && process->changes == 3 && process->image.tgid == 5);
	tag = process_asked(&all, process, 3);
	happens(PROCESS_EXECED, 5, 0, process->asked_ns + 1, 0, 0, 0);
	check(!processes_read(&all, tag, 0, &(struct proc_maps){}, &(struct process_image){}),
	      "of another program");
	check(process->complete && !process->maps.nr);
}

/* one that maps more than is followed */
static bool is_seven(void *arg, pid_t pid)
{
	(void)arg;
	return pid == 7;
}

static void test_refusal(void)
{
	struct process *process = processes_get(&all, 6), *child;
	uint64_t i;

	for (i = 0; !process->refused && i <= MAX_PROC_MAPPINGS; i++) {
		happens(PROCESS_MAPPED, 6, 0, 2 + i, 0x10000 * i, 0x10000 * i + 0x1000, 1);
		process->budget = (struct budget){}; /* as if it took its time */
	}
	check(process->refused == -E2BIG && i == MAX_PROC_MAPPINGS + 1 && !process->maps.nr &&
	      process_is_refused(process));
	happens(PROCESS_MAPPED, 6, 0, 100000, 0x1000, 0x2000, 1);
	happens(PROCESS_FORKED, 7, 6, 100001, 0, 0, 0);
	child = processes_find(&all, 7);
	check(!process->maps.nr && child && process_is_refused(child), "its children, too");
	happens(PROCESS_EXECED, 7, 0, 100002, 0, 0, 0);
	check(!process_is_refused(child) && child->complete, "but not another program");
	process->refused_until_ns = 1;
	check(!process_is_refused(process) && !process->complete, "and not for good");
	check(processes_why_refused(&all, 6) == -E2BIG && !processes_why_refused(&all, 1),
	      "it is remembered why");
	for (i = 0; !process->refused && i < 10000000; i++)
		happens(i % 2 ? PROCESS_UNMAPPED : PROCESS_MAPPED, 6, 0, 200000 + i, 0x1000, 0x2000,
			1);
	check(process->refused == -EAGAIN,
	      "nor may it change all the time: refused after %lu events", i);
	child->budget = all.budget = (struct budget){};
	process_charge(&all, child, PROCESS_BUDGET_NS / 3);
	check(!child->refused, "others may");
	all.is_named = is_seven;
	process_charge(&all, child, 10ULL * PROCESS_BUDGET_NS);
	check(!child->refused,
	      "one that was asked for pays for itself, also where all are followed");
	all.is_named = NULL;
	process_charge(&all, child, 1);
	check(child->refused == -EAGAIN, "and no other");
}

/* what a fork shares is the same until one of the two changes it */
static void test_sharing(void)
{
	struct process *parent = processes_get(&all, 8), *child;

	for (uint64_t i = 1; i < 4; i++)
		happens(PROCESS_MAPPED, 8, 0, i, 0x10000 * i, 0x10000 * i + 0x1000, 1);
	check(parent->maps.mappings[0].path == parent->maps.mappings[2].path,
	      "one path, kept once");
	happens(PROCESS_FORKED, 9, 8, 10, 0, 0, 0);
	child = processes_find(&all, 9);
	check(child->maps.mappings == parent->maps.mappings && child->maps.tid == 9);
	happens(PROCESS_UNMAPPED, 8, 0, 11, 0x20000, 0x21000, 0);
	is(8, "10000-11000@1000 30000-31000@1000");
	is(9, "10000-11000@1000 20000-21000@1000 30000-31000@1000");
	happens(PROCESS_EXITED, 8, 0, 12, 0, 0, 0);
	happens(PROCESS_MAPPED, 9, 0, 13, 0x40000, 0x41000, 0);
	is(9, "10000-11000@1000 20000-21000@1000 30000-31000@1000 40000-41000@1000");
}

/* ---- memory ---- */

/* a process that does nothing, of this user */
static pid_t sleeper(uid_t uid)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(uid, uid, uid))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static bool has_uid(pid_t pid, uid_t uid)
{
	for (int tries = 0; pid > 0 && tries < 1000; tries++, usleep(1000))
		if (uid_of_process(pid) == uid)
			return true;
	return false;
}

static uint64_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/*
 * One user's many processes take the memory: they are refused, the largest first, and not another
 * user's process, nor root's, which are larger.
 */
static void test_shares(void)
{
	enum { CROWD = 20, OTHER = CROWD, ROOTS, FORKED, LAST_FORKED = FORKED + 60, NR };
	pid_t pids[NR];
	unsigned refused = 0;
	uint64_t bytes;

	if (geteuid()) {
		puts("ok # skip other users' processes: it is not root");
		return;
	}
	for (int i = 0; i < NR; i++) {
		uid_t uid = i < CROWD ? 65534 : i == OTHER ? 65533 : i == ROOTS ? 0 : 65532;
		unsigned nr = i < CROWD ? 1000 + i : i == OTHER ? 3000 : i == ROOTS ? 5000 : 900;

		pids[i] = sleeper(uid);
		check(has_uid(pids[i], uid), "a process of user %u", uid);
		if (i > FORKED) { /* they share what the first one has mapped */
			happens(PROCESS_FORKED, pids[i], pids[FORKED], 2000, 0, 0, 0);
			continue;
		}
		happens(PROCESS_EXECED, pids[i], 0, 1, 0, 0, 0);
		for (unsigned m = 1; m <= nr; m++)
			happens(PROCESS_MAPPED, pids[i], 0, 1 + m, 0x2000UL * m,
				0x2000UL * m + 0x1000, 7);
	}
	bytes = allocated() - 9 * 1000 * sizeof(struct proc_mapping);
	all.look_ns = 0;
	processes_limit_memory(&all, bytes);
	check(allocated() <= bytes, "there is room");
	for (int i = 0; i < NR; i++) {
		bool is = processes_find(&all, pids[i])->refused == -ENOSPC;

		refused += is;
		check(!is || i < CROWD, "process %d of a user that has less is refused", i);
		check(!i || i >= CROWD || is ||
			      processes_find(&all, pids[i - 1])->refused != -ENOSPC,
		      "a smaller one than %d is refused", i);
	}
	check(refused >= 8 && refused < CROWD, "%u of %d are refused", refused, CROWD);
	for (int i = 0; i < NR; i++) {
		happens(PROCESS_EXITED, pids[i], 0, 10000, 0, 0, 0);
		if (pids[i] > 0) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	}
}

int main(void)
{
	all = (struct processes){
		.all = true,
		.observer = { .invalidated = invalidated,
			      .changed = changed,
			      .forked = forked,
			      .exited = exited,
			      .arg = &all },
	};
	test_mappings();
	test_programs();
	test_fork_and_exec();
	test_readings();
	test_later();
	test_refusal();
	test_sharing();
	test_shares();
	processes_free(&all);
	return check_done();
}
