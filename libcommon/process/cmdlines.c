// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cmdlines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/hash.h"
#include "process/workers.h"

#define BATCH 64 /* processes in a request, */
#define FEWER 8  /* and so many times fewer each time that there is no answer */
/*
 * How often a process without a command line is asked for, and how much later each time: one that
 * executes a program has none from the event of which the tool knows until the kernel has copied
 * the arguments.
 */
#define MAX_EMPTY     3
#define EMPTY_NS      50000000
#define READ_BYTES    (MAX_CMDLINE_BYTES + 4) /* one character more than is shown */
#define WORKER_BYTES  (16 << 20)
#define WORKER_CPU_MS 100

struct cmdline {
	pid_t pid;
	uint64_t program;
	enum { MET, ASKED, KNOWN } state;
	uint32_t batch;         /* how large a request it may be in */
	uint32_t nr_empty;      /* answers */
	uint64_t not_before_ns; /* it is asked for */
	char text[READ_BYTES + sizeof("…")];
	struct cmdline *prev, *next; /* of those that are MET */
	UT_hash_handle hh;
};

struct request {
	uint32_t nr;
	struct {
		pid_t pid;
		uint32_t pad;
		uint64_t program;
	} of[BATCH];
};

struct answer {
	uint32_t bytes[BATCH];
	char text[BATCH][READ_BYTES];
};

struct cmdlines {
	struct workers *workers;
	struct cmdline *all;
	struct request asked; /* .nr 0: none */
	struct cmdline *met;
	uint64_t not_before_ns; /* before this, none of them is asked for */
};

/* ---- the worker's side ---- */

static uint32_t read_one(pid_t pid, char text[READ_BYTES])
{
	ssize_t bytes = -1;
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		bytes = read(fd, text, READ_BYTES);
		close(fd);
	}
	return bytes > 0 ? bytes : 0;
}

static size_t work(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	struct request request = {};
	struct answer *answer = area;

	(void)file;
	if (bytes > sizeof(request) || room < sizeof(*answer))
		return 0;
	memcpy(&request, area, bytes);
	for (uint32_t i = 0; i < request.nr && i < BATCH; i++)
		answer->bytes[i] = read_one(request.of[i].pid, answer->text[i]);
	return sizeof(*answer);
}

/* ---- the tool's ---- */

int cmdlines_new(struct cmdlines **cmdlines)
{
	struct worker_limits limits = { .cpu_ms = WORKER_CPU_MS, .bytes = WORKER_BYTES };
	struct cmdlines *c = calloc(1, sizeof(*c));
	int error = c ? workers_new(&c->workers, 1, sizeof(struct answer) + sizeof(struct request),
				    &limits, work)
		      : -ENOMEM;

	if (error) {
		free(c);
		return error;
	}
	workers_start(c->workers);
	*cmdlines = c;
	return 0;
}

void cmdlines_forget(struct cmdlines *c)
{
	hash_free_all(c->all);
	c->met = NULL;
}

void cmdlines_free(struct cmdlines *c)
{
	if (!c)
		return;
	cmdlines_forget(c);
	workers_free(c->workers);
	free(c);
}

static struct cmdline *find(const struct cmdlines *c, pid_t pid)
{
	struct cmdline *cmdline;

	HASH_FIND_INT(c->all, &pid, cmdline);
	return cmdline;
}

static void meet(struct cmdlines *c, struct cmdline *cmdline)
{
	cmdline->state = MET;
	DL_APPEND(c->met, cmdline);
}

int cmdlines_see(struct cmdlines *c, pid_t pid, uint64_t program)
{
	struct cmdline *cmdline = find(c, pid);

	if (cmdline && (!program || cmdline->program == program))
		return 0;
	if (!cmdline) {
		/* 0: a report asks, for its own */
		if (program && HASH_COUNT(c->all) >= MAX_CMDLINES)
			return 0;
		cmdline = calloc(1, sizeof(*cmdline));
		if (!cmdline)
			return -ENOMEM;
		cmdline->pid = pid;
		HASH_ADD_INT(c->all, pid, cmdline);
		cmdline->state = KNOWN;
	}
	if (cmdline->state != MET)
		meet(c, cmdline);
	cmdline->program = program;
	cmdline->batch = BATCH;
	cmdline->nr_empty = 0;
	cmdline->not_before_ns = c->not_before_ns = 0;
	*cmdline->text = 0;
	return 0;
}

/*
 * NULs separate the words, and end the last one; a title that the program has set may have more
 * behind it.
 */
static void keep(struct cmdline *cmdline, const char *text, uint32_t bytes)
{
	bool cut = bytes > MAX_CMDLINE_BYTES;

	if (cut)
		bytes = MAX_CMDLINE_BYTES;
	while (cut && bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes--;
	while (bytes && (!text[bytes - 1] || text[bytes - 1] == ' '))
		bytes--;
	for (uint32_t i = 0; i < bytes; i++)
		cmdline->text[i] = text[i] ? text[i] : ' ';
	strcpy(cmdline->text + bytes, cut && bytes ? "…" : "");
}

static void take_one(struct cmdlines *c, struct cmdline *cmdline, const struct answer *answer,
		     uint32_t i)
{
	bool again;

	if (answer) {
		keep(cmdline, answer->text[i],
		     answer->bytes[i] < READ_BYTES ? answer->bytes[i] : READ_BYTES);
		again = !*cmdline->text && ++cmdline->nr_empty < MAX_EMPTY;
		cmdline->not_before_ns = clock_ns() + EMPTY_NS;
	} else {
		again = cmdline->batch /= FEWER;
	}
	cmdline->state = KNOWN;
	if (again)
		meet(c, cmdline);
}

static void take(struct cmdlines *c, const struct worker_answer *got)
{
	const struct answer *answer = got->error || got->nr != sizeof(*answer) ? NULL : got->bytes;

	for (uint32_t i = 0; i < c->asked.nr; i++) {
		struct cmdline *cmdline = find(c, c->asked.of[i].pid);

		if (cmdline && cmdline->state == ASKED &&
		    cmdline->program == c->asked.of[i].program)
			take_one(c, cmdline, answer, i);
	}
	c->asked.nr = 0;
}

static void add_to_request(struct cmdlines *c, struct cmdline *cmdline)
{
	c->asked.of[c->asked.nr].pid = cmdline->pid;
	c->asked.of[c->asked.nr++].program = cmdline->program;
	cmdline->state = ASKED;
	DL_DELETE(c->met, cmdline);
}

/* The largest requests first: who delays an answer delays few others. */
static int ask(struct cmdlines *c)
{
	struct cmdline *cmdline, *next;
	uint64_t now = clock_ns();

	if (now < c->not_before_ns)
		return 0;
	for (uint32_t batch = BATCH; batch && !c->asked.nr; batch /= FEWER)
		DL_FOREACH_SAFE(c->met, cmdline, next) {
			if (c->asked.nr == batch)
				break;
			if (cmdline->batch == batch && cmdline->not_before_ns <= now)
				add_to_request(c, cmdline);
		}
	if (!c->asked.nr)
		c->not_before_ns = now + EMPTY_NS / 4;
	return c->asked.nr ? workers_ask(c->workers, 1, 0, &c->asked, sizeof(c->asked)) : 0;
}

int cmdlines_follow(struct cmdlines *c)
{
	struct worker_answer got;

	if (c->asked.nr && workers_take(c->workers, &got))
		take(c, &got);
	return !c->asked.nr && c->met ? ask(c) : 0;
}

int cmdlines_settle(struct cmdlines *c, unsigned ms)
{
	uint64_t until = clock_ns() + ms * 1000000ULL, now;
	int error = cmdlines_follow(c);

	while (!error && c->asked.nr && (now = clock_ns()) < until) {
		workers_wait(c->workers, (until - now) / 1000000 + 1);
		error = cmdlines_follow(c);
	}
	return error;
}

const char *cmdlines_get(const struct cmdlines *c, pid_t pid)
{
	const struct cmdline *cmdline = find(c, pid);

	return cmdline && cmdline->state == KNOWN && *cmdline->text ? cmdline->text : NULL;
}
