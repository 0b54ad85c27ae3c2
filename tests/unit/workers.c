// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs in workers: those that answer, and those that sleep, spin, die, want too much or may not do
 * what they try.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/worker_message.h"
#include "process/workers.h"
#include "check.h"

#define AREA      (8 << 20)
#define MAX_BYTES (64 << 20)

static const struct worker_limits limits = { .cpu_ms = 200, .bytes = MAX_BYTES };

static volatile bool never;

/* the rest of the line in /proc/self/FILE that begins so */
static bool find_line(const char *file, const char *beginning, char *rest, size_t size)
{
	FILE *lines = fopen(file, "re");
	char line[256];
	bool found = false;

	while (lines && !found && fgets(line, sizeof(line), lines))
		found = !strncmp(line, beginning, strlen(beginning));
	if (lines)
		fclose(lines);
	if (found)
		snprintf(rest, size, "%s", line + strlen(beginning));
	return found;
}

/*
 * It leaves no core, and has no rights but to read: capabilities(7) by their numbers in
 * linux/capability.h.
 */
static bool is_limited(void)
{
	const unsigned long long reading = 1ULL << 2 | 1ULL << 19 | 1ULL << 40;
	char core[256], effective[256], permitted[256];
	int soft = -1, hard = -1;

	return find_line("/proc/self/limits", "Max core file size", core, sizeof(core)) &&
	       sscanf(core, "%d %d", &soft, &hard) == 2 && !soft && !hard &&
	       find_line("/proc/self/status", "CapEff:", effective, sizeof(effective)) &&
	       find_line("/proc/self/status", "CapPrm:", permitted, sizeof(permitted)) &&
	       !((strtoull(effective, NULL, 16) | strtoull(permitted, NULL, 16)) & ~reading);
}

static pid_t tool;

static bool is_child_of_tool(void)
{
	char pid[256];

	return find_line("/proc/self/status", "PPid:", pid, sizeof(pid)) && atoi(pid) == tool;
}

/* It has inherited none of the memory that the tool has had since workers_start(). */
static bool is_small(void)
{
	char kib[256];

	return find_line("/proc/self/status", "RssAnon:", kib, sizeof(kib)) &&
	       strtoul(kib, NULL, 10) < 16 << 10;
}

static size_t work(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	char *text = area, kind = bytes ? *text : 0;
	int fds[2];

	(void)file;
	switch (kind) {
	case 'r': /* reads and opens, which may not wait for a writer here */
		kind = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) < 0 ? 'x' : 'r';
		break;
	case 'f': /* a FIFO, which is opened by whoever comes */
		open(text + 1, O_RDONLY);
		break;
	case 's':
		while (!never)
			;
		break;
	case 'c':
		for (uint64_t began = clock_cpu_ns(); clock_cpu_ns() - began < 60000000;)
			;
		break;
	case 'd':
		__builtin_trap();
	case 'm':
		kind = malloc(MAX_BYTES + (1 << 20)) ? 'x' : 'm';
		break;
	case 'w': /* what a taken-over parser would like to do */
		kind = open(text + 1, O_WRONLY | O_CREAT, 0600) >= 0 ||
				       !socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || fork() >= 0
			       ? 'x'
			       : 'w';
		break;
	case 'e':
		execl("/bin/true", "true", NULL);
		break;
	case 'l': /* what the kernel says of it */
		kind = is_limited() ? 'l' : 'x';
		break;
	case 'b':
		memset(area, 'b', room);
		return room;
	case 'i': /* what it has of the memory of the one that starts it */
		kind = is_small() ? 'i' : 'x';
		break;
	case 'p':
		kind = is_child_of_tool() ? 'p' : 'x';
		break;
	}
	*text = kind;
	return 1;
}

static char call(struct workers *w, const char *request, int *error)
{
	struct worker_answer answer = workers_call(w, 0, request, strlen(request) + 1, 0);

	*error = answer.error;
	return answer.error ? 0 : *(const char *)answer.bytes;
}

static void test_limits(void)
{
	char fifo[] = "/tmp/ehperf-workers-XXXXXX", file[64], request[80];
	struct workers *w;
	uint64_t began;
	int error;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	check(!workers_new(&w, 1, AREA, &limits, work));
	check(call(w, "r", &error) == 'r' && !error, "a job is done");
	check(call(w, "l", &error) == 'l', "a worker leaves no core, and may only read");
	setrlimit(RLIMIT_CORE, &(struct rlimit){}); /* one is to die */
	check(mkdtemp(fifo) != NULL);
	snprintf(file, sizeof(file), "%s/f", fifo);
	snprintf(request, sizeof(request), "w%s", file);
	check(call(w, request, &error) == 'w' && access(file, F_OK),
	      "a worker writes nothing, and starts no process");
	check(!call(w, "e", &error) && error == -ECHILD, "whoever starts a program in it ends it");
	check(!mkfifo(file, 0600));
	snprintf(request, sizeof(request), "f%s", file);
	began = clock_ns();
	check(!call(w, request, &error) && error == -ETIMEDOUT,
	      "one that waits for another is given up: %d", error);
	check(clock_ns() - began < 1000000000, "and soon");
	unlink(file);
	rmdir(fifo);
	began = clock_ns();
	check(!call(w, "s", &error) && error == -ETIME, "so is one that takes too long: %d", error);
	check(!call(w, "d", &error) && error == -ECHILD, "one that dies: %d", error);
	check(call(w, "m", &error) == 'm', "memory is bounded");
	check(call(w, "r", &error) == 'r' && !error, "after all that, there is a worker again");
	workers_free(w);
}

/* Those that were killed may take a while, and are this process' children still. */
static bool all_end(void)
{
	for (uint64_t began = clock_ns(); clock_ns() - began < 10000000000; usleep(1000))
		if (waitpid(-1, NULL, WNOHANG) == -1)
			return errno == ECHILD;
	return false;
}

/*
 * Workers that are started later inherit nothing of what the tool has by then, and are its children
 * nevertheless.
 */
static void test_started_later(void)
{
	const size_t bytes = 64 << 20;
	struct workers *w;
	char *memory;
	int error = 0;

	tool = getpid();
	check(!workers_new(&w, 1, AREA, &limits, work));
	memory = malloc(bytes);
	check(memory != NULL);
	memset(memory, 'm', bytes);
	check(!call(w, "d", &error) && error == -ECHILD, "the first one dies: %d", error);
	check(call(w, "i", &error) == 'i' && !error, "the next one is small");
	check(call(w, "p", &error) == 'p' && !error, "and a child of the tool");
	check(call(w, "l", &error) == 'l' && !error, "and limited");
	check(!call(w, "d", &error) && error == -ECHILD && call(w, "b", &error) == 'b' && !error,
	      "as often as one is wanted: %d", error);
	/* where there may be no file as large as the area */
	check(!call(w, "d", &error) && error == -ECHILD);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ AREA / 2, RLIM_INFINITY });
	check(call(w, "r", &error) == 'r' && !error, "or the tool starts it itself: %d", error);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	free(memory);
	workers_free(w);
	check(all_end(), "all of them have ended");
}

/* 0: there is none */
static pid_t starter(void)
{
	char name[64], children[256] = "", *at = children, *next;
	pid_t found = 0;

	snprintf(name, sizeof(name), "/proc/self/task/%d/children", getpid());
	if (!find_line(name, "", children, sizeof(children)))
		return 0;
	for (long pid; !found && (pid = strtol(at, &next, 10)) > 0; at = next) {
		snprintf(name, sizeof(name), "/proc/%ld/status", pid);
		if (find_line(name, "Name:\tehperf-starter", name, sizeof(name)))
			found = pid;
	}
	return found;
}

static bool stop_starter(void)
{
	pid_t pid = starter(); /* kill(0) would stop this program, and who runs it */

	return pid > 0 && !kill(pid, SIGSTOP);
}

/*
 * The tool goes on while it waits for a worker that the starter has not started yet, and starts
 * none itself.
 */
static void test_late_starter(void)
{
	const size_t bytes = 64 << 20;
	struct worker_answer answer;
	uint64_t began = clock_ns();
	struct workers *w;
	char *memory;

	check(!workers_new(&w, 1, AREA, &limits, work));
	memory = malloc(bytes);
	check(memory != NULL);
	memset(memory, 'm', bytes);
	check(stop_starter());
	check(!workers_ask(w, 1, 0, "i", 2));
	check(!workers_take(w, &answer) && workers_nr_asked(w) == 1, "no answer yet");
	check(starter() > 0 && !kill(starter(), SIGCONT));
	while (!workers_take(w, &answer))
		workers_wait(w, 1000);
	check(clock_ns() - began > 1000000000 ||
		      (!answer.error && *(const char *)answer.bytes == 'i'),
	      "then there is a small one");
	/*
	 * where the whole machine has stood still for longer than that, the starter is given its
	 * time
	 */
	check(workers_call(w, 0, "d", 2, 0).error == -ECHILD && stop_starter());
	check(!workers_ask(w, 1, 0, "i", 2) && !workers_take(w, &answer));
	usleep(1200000);
	check(starter() > 0 && !kill(starter(), SIGCONT));
	while (!workers_take(w, &answer))
		workers_wait(w, 1000);
	check(!answer.error && *(const char *)answer.bytes == 'i',
	      "a small one, and not the tool's");
	check(!workers_ask(w, 1, 0, "d", 2));
	while (!workers_take(w, &answer))
		workers_wait(w, 1000);
	check(stop_starter());
	check(!workers_ask(w, 1, 0, "r", 2));
	while (!workers_take(w, &answer))
		workers_wait(w, 1000);
	check(!answer.error && !starter(),
	      "one that never answers is given up, and the tool starts workers itself");
	free(memory);
	workers_free(w);
	check(all_end(), "all of them have ended");
}

static void test_many(void)
{
	struct worker_answer answer;
	struct workers *w;
	uint64_t sum = 0;
	unsigned nr = 0;

	check(!workers_new(&w, 3, AREA, &limits, work));
	check(!workers_take(w, &answer) && !workers_nr_asked(w), "nothing was asked for");
	for (uint64_t tag = 1; tag <= 40; tag++)
		check(!workers_ask(w, tag, 0, tag == 20 ? "d" : tag % 10 ? "r" : "b", 2));
	while (workers_nr_asked(w)) {
		if (!workers_take(w, &answer)) {
			workers_wait(w, 100);
			continue;
		}
		nr++;
		sum += answer.tag;
		check(answer.error == (answer.tag == 20 ? -ECHILD : 0), "tag %d: %d",
		      (int)answer.tag, answer.error);
		if (!answer.error && answer.tag % 10 == 0)
			check(answer.nr == AREA && ((const char *)answer.bytes)[AREA - 1] == 'b',
			      "the whole area");
	}
	check(nr == 40 && sum == 40 * 41 / 2, "each job is answered once");
	for (uint64_t tag = 1; tag <= 40; tag++)
		check(!workers_ask(w, tag, 0, "s", 2));
	workers_free(w); /* without waiting for them */
}

/* Takes answers until this one comes. How many came before it? */
static unsigned taken_before(struct workers *w, uint64_t tag)
{
	struct worker_answer answer = {};

	for (unsigned nr = 0;;) {
		if (!workers_take(w, &answer))
			workers_wait(w, 100);
		else if (answer.tag == tag)
			return nr;
		else
			nr++;
	}
}

#define USER(uid) ((uint64_t)(uid) << 32)

/* Who asks for much waits for himself. */
static void test_owners(void)
{
	struct workers *w;

	check(!workers_new(&w, 1, AREA, &limits, work));
	for (uint64_t tag = 1; tag <= 10; tag++)
		check(!workers_ask(w, tag, USER(7), "c", 2));
	check(taken_before(w, 1) == 0);
	check(!workers_ask(w, 11, USER(8), "r", 2));
	check(taken_before(w, 11) <= 1, "what was begun before, and no more");
	check(!workers_ask(w, 12, USER(7), "r", 2) && !workers_ask(w, 13, USER(8), "r", 2));
	check(taken_before(w, 13) <= 1 && taken_before(w, 12) >= 5, "of one owner in their order");
	workers_free(w);

	/*
	 * many owners may be one user: a worker is left to the first owner, whatever they have
	 * begun
	 */
	check(!workers_new(&w, 2, AREA, &limits, work));
	for (uint64_t tag = 1; tag <= 40; tag++)
		check(!workers_ask(w, tag, USER(100 + tag), "c", 2));
	taken_before(w, 20);
	check(!workers_ask(w, 50, 0, "r", 2));
	check(taken_before(w, 50) <= 1);
	workers_free(w);
}

/*
 * The first and the last of those that wait are taken back, and one in between; what a worker has
 * is not.
 */
static void test_cancelled(void)
{
	struct worker_answer answer;
	struct workers *w;
	uint64_t sum = 0;

	check(!workers_new(&w, 1, AREA, &limits, work));
	check(!workers_call(w, 0, "r", 2, 0).error); /* the worker is there */
	for (uint64_t tag = 1; tag <= 6; tag++)
		check(!workers_ask(w, tag, 0, "r", 2));
	check(!workers_cancel(w, 1) && !workers_cancel(w, 7),
	      "what a worker has is not taken back, nor what was not asked for");
	check(workers_cancel(w, 2) && workers_cancel(w, 4) && workers_cancel(w, 6) &&
	      !workers_cancel(w, 6));
	check(workers_nr_asked(w) == 3, "three are left");
	check(!workers_ask(w, 8, 0, "r", 2));
	while (workers_nr_asked(w))
		if (workers_take(w, &answer))
			sum += answer.tag;
		else
			workers_wait(w, 100);
	check(sum == 1 + 3 + 5 + 8, "those, and what was asked for afterwards");
	workers_free(w);
}

/* Very many wait: taking one back takes no longer than of few. */
static void test_many_cancelled(void)
{
	enum { MANY = 50000 };
	uint64_t tag, cancelled = 0, any = 0, began;
	struct workers *w;

	check(!workers_new(&w, 1, AREA, &limits, work));
	check(!workers_call(w, 0, "r", 2, 0).error);
	for (tag = 1; tag <= MANY; tag++)
		if (workers_ask(w, tag, USER(tag % 2), "r", 2))
			break;
	check(workers_nr_waiting(w, USER(0)) + workers_nr_waiting(w, USER(1)) == MANY - 1 &&
	      workers_nr_waiting(w, USER(2)) == 0);
	began = clock_cpu_ns();
	for (tag = MANY; tag > MANY / 2; tag--)
		cancelled += workers_cancel(w, tag);
	while (workers_cancel_any(w, &tag))
		any += tag;
	check(clock_cpu_ns() - began < 1000000000, "%llu ms",
	      (unsigned long long)(clock_cpu_ns() - began) / 1000000);
	check(cancelled == MANY / 2 && any == (uint64_t)MANY / 2 * (MANY / 2 + 1) / 2 - 1);
	check(workers_nr_asked(w) == 1 && !workers_nr_waiting(w, USER(1)), "the first has begun");
	workers_free(w);
}

/*
 * Where no worker can be started, each job has its answer nevertheless; later, when one can, too.
 */
static void test_unstartable(void)
{
	struct rlimit before, none = {};
	struct worker_answer answer;
	struct workers *w;

	check(!workers_new(&w, 2, AREA, &limits, work));
	getrlimit(RLIMIT_AS, &before);
	none.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_AS, &none);
	answer = workers_call(w, 0, "r", 2, 0);
	check(answer.error == -ENOMEM && !workers_nr_asked(w), "%d", answer.error);
	answer = workers_call(w, 0, "r", 2, 0);
	check(answer.error == -ENOMEM, "%d", answer.error);
	setrlimit(RLIMIT_AS, &before);
	usleep(300000); /* a start is tried again after 0.2 s at the latest */
	answer = workers_call(w, 0, "r", 2, 0);
	check(!answer.error, "%d", answer.error);
	workers_free(w);
}

/* ---- workers without rights, for which files are opened ---- */

/* the file that the request names; 'm': many times; '!': the opener dies */
static struct worker_file open_named(const void *request, size_t bytes)
{
	const char *text = request;
	struct worker_file file;
	int fd;

	(void)bytes;
	if (text[1] == '!')
		__builtin_trap();
	fd = open(text + 1, O_RDONLY | O_CLOEXEC);
	file = (struct worker_file){ .fd = fd < 0 ? -errno : fd, .own = text[0] == 'o' };
	for (int i = 0; text[0] == 'm' && i < WORKER_MORE + 2; i++)
		worker_file_add(&file, i % 2, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	return file;
}

static size_t use_file(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	char *text = area, kind = *text;

	(void)bytes, (void)room;
	switch (kind) {
	case 'n': /* 0 is the socket, and nothing else is open */
		for (int fd = 1; fd < 100; fd++)
			kind = fd != file->fd && fcntl(fd, F_GETFD) >= 0 ? 'x' : kind;
		break;
	case 'm': /* as many as there is room for */
		kind = file->nr_more == WORKER_MORE ? 'm' : 'x';
		for (int i = 0, fd; i < WORKER_MORE / 2 && kind == 'm'; i++) {
			fd = worker_file_take(file, 1);
			kind = fd >= 0 && pread(fd, text + 2, 1, 0) == 1 ? 'm' : 'x';
			close(fd);
		}
		if (worker_file_take(file, 1) >= 0 || file->nr_more != WORKER_MORE / 2)
			kind = 'x';
		break;
	case 'a': /* for reading, or by its name */
		kind = open(text + 1, O_RDONLY) >= 0 || open("/proc/self/maps", O_RDONLY) >= 0
			       ? 'x'
			       : 'a';
		break;
	case 'd':
		__builtin_trap();
	case 's':
		while (!never)
			;
	}
	*text = kind;
	memset(text + 1, 0, 80);
	text[1] = file->own ? '1' : '0';
	if (file->fd < 0)
		sprintf(text + 2, "%d", file->fd);
	else if (pread(file->fd, text + 2, 78, 0) < 0)
		text[2] = '?';
	return 81;
}

/* Is the answer this kind, and the file this text? */
static bool answers(struct workers *w, const char *request, const char *expected)
{
	struct worker_answer answer = workers_call(w, 0, request, strlen(request) + 1, 0);

	return !answer.error && answer.nr == 81 && answer.file.fd < 0 &&
	       !strncmp(answer.bytes, expected, strlen(expected));
}

static unsigned nr_open(void)
{
	DIR *all = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (all && readdir(all))
		nr++;
	if (all)
		closedir(all);
	return nr;
}

static void test_opened(void)
{
	const struct worker_limits without_rights = { .cpu_ms = 200,
						      .bytes = MAX_BYTES,
						      .open = open_named };
	char directory[] = "/tmp/ehperf-workers-XXXXXX", file[64], fifo[64], request[80], hang[80];
	struct worker_answer answer;
	unsigned before, nr;
	struct workers *w;
	int fd;

	check(mkdtemp(directory) != NULL);
	snprintf(file, sizeof(file), "%s/f", directory);
	snprintf(fifo, sizeof(fifo), "%s/p", directory);
	snprintf(hang, sizeof(hang), "f%s", fifo);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	check(fd >= 0 && write(fd, "its text", 8) == 8 && !close(fd) && !mkfifo(fifo, 0600));

	check(!workers_new(&w, 2, AREA, &without_rights, use_file));
	snprintf(request, sizeof(request), "o%s", file);
	check(answers(w, request, "o1its text"),
	      "the file is read, and it is said where it is from");
	before = nr_open();
	request[0] = 'r';
	check(answers(w, request, "r0its text"));
	request[0] = 'm';
	check(answers(w, request, "m0its text"),
	      "more files are passed on, until there is no room");
	request[0] = 'n';
	check(answers(w, request, "n0its text"), "nothing else is open");
	check(nr_open() == before, "nor in the tool");
	request[0] = 'a';
	check(answers(w, request, "a0its text"), "and nothing else can be opened");
	snprintf(request, sizeof(request), "r%s-", file);
	check(answers(w, request, "r0-2"), "there is no such file");

	answer = workers_call(w, 0, hang, strlen(hang) + 1, 0);
	check(answer.error == -ETIMEDOUT, "a file that hangs is given up: %d", answer.error);
	snprintf(request, sizeof(request), "r%s", file);
	check(answers(w, request, "r0its text"), "the next one does not");
	check(workers_call(w, 0, "r!", 3, 0).error == -ECHILD && answers(w, request, "r0its text"),
	      "an opener that dies is replaced");
	request[0] = 'd';
	check(workers_call(w, 0, request, strlen(request) + 1, 0).error == -ECHILD,
	      "so is who parses");
	request[0] = 's';
	check(workers_call(w, 0, request, strlen(request) + 1, 0).error == -ETIME);
	request[0] = 'r';
	check(answers(w, request, "r0its text"));

	/* an owner of many that hang does not keep another one waiting for all of them */
	for (uint64_t tag = 1; tag <= 20; tag++)
		check(!workers_ask(w, tag, USER(7), hang, strlen(hang) + 1));
	check(!workers_ask(w, 100, USER(8), request, strlen(request) + 1) &&
	      taken_before(w, 100) <= 6);
	/* what is being opened is not taken back, and what waits is */
	check(!workers_cancel(w, 100) && workers_cancel(w, 20) && !workers_cancel(w, 20));
	for (uint64_t tag = 1; tag < 20; tag++)
		workers_give_up(w, tag);
	check(!workers_nr_asked(w) && answers(w, request, "r0its text"),
	      "what is given up is dropped");

	/* who has begun a job that is given up is replaced: the next job does not wait for it */
	request[0] = 's';
	check(!workers_ask(w, 200, USER(7), request, strlen(request) + 1));
	for (int i = 0; i < 5 && !workers_take(w, &answer); i++)
		workers_wait(w, 10);
	workers_give_up(w, 200);
	request[0] = 'r';
	check(!workers_nr_asked(w) && answers(w, request, "r0its text"), "the next job is done");

	for (uint64_t tag = nr = 0; tag < 500; tag++)
		check(!workers_ask(w, tag, USER(tag % 3), request, strlen(request) + 1));
	while (workers_nr_asked(w))
		if (!workers_take(w, &answer))
			workers_wait(w, 100);
		else
			nr += !answer.error && !strcmp(answer.bytes, "r0its text");
	check(nr == 500, "%u of 500", nr);
	/* one worker more, and its opener */
	check(nr_open() <= before + 8, "no descriptor is left: %u, %u before", nr_open(), before);
	for (uint64_t tag = 1; tag <= 3; tag++)
		check(!workers_ask(w, tag, 0, tag == 2 ? hang : request, strlen(request) + 1));
	workers_free(w); /* without waiting for them */
	check(!workers_new(&w, 1, AREA, &without_rights, use_file) &&
	      answers(w, request, "r0its text"));
	workers_free(w);
	check(nr_open() < before, "%u", nr_open());
	unlink(file);
	unlink(fifo);
	rmdir(directory);
}

/* the PID of the worker that has done the job */
static size_t say_pid(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	(void)bytes, (void)room, (void)file;
	memcpy(area, &(pid_t){ getpid() }, sizeof(pid_t));
	return sizeof(pid_t);
}

/*
 * No worker has jobs of two owners that differ in these bits, and an owner's jobs do not each start
 * a new one.
 */
static void test_apart(uint64_t bits)
{
	const struct worker_limits apart = { .cpu_ms = 200, .bytes = MAX_BYTES, .apart = bits };
	enum { JOBS = 60, OWNERS = 4, PROCESSES = 3 };
	struct {
		pid_t pid;
		uint64_t owner;
	} seen[JOBS];
	struct worker_answer answer;
	unsigned nr = 0, nr_pids = 0, mixed = 0;
	struct workers *w;

	check(!workers_new(&w, 3, AREA, &apart, say_pid));
	for (uint64_t tag = 0; tag < JOBS; tag++)
		check(!workers_ask(w, tag, (tag % OWNERS) << 32 | (~bits & tag % PROCESSES), "x",
				   1));
	while (workers_nr_asked(w)) {
		if (!workers_take(w, &answer)) {
			workers_wait(w, 100);
			continue;
		}
		check(!answer.error && answer.nr == sizeof(pid_t), "%d", answer.error);
		memcpy(&seen[nr].pid, answer.bytes, sizeof(pid_t));
		seen[nr++].owner = answer.tag % OWNERS;
	}
	for (unsigned i = 0; i < nr; i++) {
		bool is_new = true;

		for (unsigned j = 0; j < i; j++) {
			is_new &= seen[i].pid != seen[j].pid;
			mixed += seen[i].pid == seen[j].pid && seen[i].owner != seen[j].owner;
		}
		nr_pids += is_new;
	}
	check(nr == JOBS && !mixed && nr_pids >= OWNERS, "%u jobs, %u workers, %u mixed", nr,
	      nr_pids, mixed);
	for (nr = 0; nr < 10; nr++)
		check((answer = workers_call(w, 0, "x", 1, 0)).error == 0 &&
			      (nr == 0 || !memcmp(answer.bytes, &seen[0].pid, sizeof(pid_t))) &&
			      memcpy(&seen[0].pid, answer.bytes, sizeof(pid_t)),
		      "one for all of an owner's jobs");
	workers_free(w);
}

/*
 * Each user's jobs are one worker's, however many there are and whichever processes they are about.
 */
static void test_kept(void)
{
	const struct worker_limits keeps = {
		.cpu_ms = 200, .bytes = MAX_BYTES, .apart = OWNERS_APART, .keeps = true
	};
	enum { JOBS = 40, USERS = 2 };
	pid_t pids[USERS] = {}, pid;
	struct worker_answer answer;
	struct workers *w;

	check(!workers_new(&w, 3, AREA, &keeps, say_pid));
	for (uint64_t tag = 0; tag < JOBS; tag++)
		check(!workers_ask(w, tag, USER(tag % USERS) | tag, "x", 1));
	while (workers_nr_asked(w)) {
		if (!workers_take(w, &answer)) {
			workers_wait(w, 100);
			continue;
		}
		memcpy(&pid, answer.bytes, sizeof(pid));
		if (!pids[answer.tag % USERS])
			pids[answer.tag % USERS] = pid;
		check(pid == pids[answer.tag % USERS], "job %lu", answer.tag);
	}
	check(pids[0] != pids[1] && !workers_nr_ended(w));
	workers_free(w);
}

/*
 * The numbers of descriptors that a message speaks of, and does not have, are those of files of the
 * tool's.
 */
static void test_refused_message(void)
{
	struct worker_message message = { .file = { .fd = 1, .nr_more = 200 } };
	int ends[2];

	check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	check(send(ends[0], &message, sizeof(message), 0) == sizeof(message));
	check(worker_message_receive(ends[1], &message, true, 0) == -ECHILD);
	check(message.file.fd < 0 && !message.file.nr_more);
	close(ends[0]);
	close(ends[1]);
}

/* One that was taken over: it answers, and goes on writing where the answer was. */
static size_t write_on(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	const struct worker_message message = { .bytes = 8, .file.fd = -EBADF };
	volatile uint64_t *word = area;
	uint64_t end = clock_ns() + 300000000;

	(void)bytes, (void)room, (void)file;
	if (!worker_message_send(0, &message, 0))
		_exit(1);
	while (clock_ns() < end)
		++*word;
	_exit(0);
}

static void test_answer_stays(void)
{
	struct worker_answer got;
	uint64_t first, then;
	struct workers *w;

	if (!check(!workers_new(&w, 1, 4096,
				&(struct worker_limits){ .cpu_ms = 2000, .bytes = MAX_BYTES },
				write_on)))
		return;
	got = workers_call(w, 0, "", 1, 0);
	if (check(!got.error && got.nr == 8, "%d", got.error)) {
		memcpy(&first, got.bytes, 8);
		usleep(200000);
		memcpy(&then, got.bytes, 8);
		check(first == then, "%lu, then %lu", first, then);
	}
	workers_free(w);
}

int main(void)
{
	test_refused_message();
	test_answer_stays();
	test_unstartable();
	test_limits();
	test_started_later();
	test_late_starter();
	test_many();
	test_owners();
	test_cancelled();
	test_many_cancelled();
	test_opened();
	test_apart(UINT64_MAX);
	test_apart(OWNERS_APART);
	test_kept();
	return check_done();
}
