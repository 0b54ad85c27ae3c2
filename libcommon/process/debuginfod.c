// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "dwarf/elf_file.h"
#include "process/workers.h"

#define MAX_MEMORY  (256 << 20) /* of the child */
#define LEAST_BYTES 4096        /* less than this in the time of a stall is next to nothing */
#define WAIT_MS     20

struct request {
	uint8_t build_id[MAX_BUILD_ID];
	uint32_t bytes;
	uint64_t max_ns, max_bytes, stall_ns;
};

struct answer {
	int error;
	uint64_t bytes; /* that were fetched; 0: it was in the cache */
	char path[PATH_MAX];
};

struct debuginfod {
	struct workers *workers;
	uint64_t spent_ns[2]; /* [true]: for trusted files */
	uint64_t spent_bytes;
	int error; /* why no more is asked for */
};

/* ---- in the child ---- */

/*
 * of libdebuginfod.so.1; not linked, because it brings libcurl and 30 more libraries into every
 * start
 */
static struct api {
	void *library;
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int bytes, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
} api;

/* libdebuginfod's progress function gets nothing but the client */
static struct {
	struct request request;
	uint64_t began_ns, grew_ns;
	long bytes; /* at grew_ns */
	bool asked;
	int error; /* why it was given up */
} now;

/*
 * `bytes` are those of the file, or before there are any, how often this was called. Not 0: give it
 * up
 */
static int on_progress(void *client, long bytes, long total)
{
	uint64_t t = clock_ns();

	(void)client;
	(void)total;
	now.asked = true;
	if (bytes < now.bytes || bytes - now.bytes >= LEAST_BYTES) {
		now.bytes = bytes;
		now.grew_ns = t;
	}
	if (t - now.began_ns > now.request.max_ns)
		now.error = -ETIME;
	else if (bytes > 0 && (uint64_t)bytes > now.request.max_bytes)
		now.error = -EFBIG;
	else if (t - now.grew_ns > now.request.stall_ns)
		now.error = -ETIMEDOUT;
	return now.error;
}

static bool load(void)
{
#ifndef EHPERF_STATIC /* it would bring another libc with it */
	if (!api.library)
		api.library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
	if (!api.library)
		return false;
	*(void **)&api.begin = dlsym(api.library, "debuginfod_begin");
	*(void **)&api.end = dlsym(api.library, "debuginfod_end");
	*(void **)&api.find = dlsym(api.library, "debuginfod_find_debuginfo");
	*(void **)&api.set_progress = dlsym(api.library, "debuginfod_set_progressfn");
	return api.begin && api.end && api.find && api.set_progress;
}

/* as `mkdir -p`. False: it is not there */
static bool make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	return !mkdir(path, 0700) || errno == EEXIST;
}

/* where libdebuginfod keeps what it fetches, see debuginfod_find_debuginfo(3); NULL: nowhere */
static const char *make_cache(void)
{
	static char path[PATH_MAX];
	const char *chosen = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	struct stat st;

	snprintf(path, sizeof(path), "%s/.debuginfod_client_cache", home ?: "/");
	if (chosen && *chosen)
		snprintf(path, sizeof(path), "%s", chosen);
	else if (stat(path, &st))
		snprintf(path, sizeof(path), xdg ? "%s/debuginfod_client" : "%s/.cache/debuginfod_client",
			 xdg ?: home ?: "/");
	return make_directories(path) ? path : NULL;
}

/* 0 or -errno */
static int find(struct answer *answer)
{
	struct rlimit most = { now.request.max_bytes, now.request.max_bytes };
	void *client = load() ? api.begin() : NULL;
	char *path = NULL;
	struct stat st;
	int fd;

	if (!client)
		return -ENOSYS;
	setrlimit(RLIMIT_FSIZE, &most);
	api.set_progress(client, on_progress);
	fd = api.find(client, now.request.build_id, now.request.bytes, &path);
	api.end(client);
	if (fd >= 0) {
		if (!fstat(fd, &st) && now.asked)
			answer->bytes = st.st_size;
		close(fd);
	}
	if (fd >= 0 && path && strlen(path) < sizeof(answer->path))
		strcpy(answer->path, path);
	free(path);
	if (fd == -EFBIG) /* the limit of a file's size */
		now.error = -EFBIG;
	if (now.error || fd < 0)
		return now.error ? now.error : fd;
	return answer->path[0] ? 0 : -ENAMETOOLONG;
}

static size_t fetch(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	struct answer *answer = area;

	(void)room, (void)file;
	if (bytes != sizeof(now.request))
		return 0;
	memset(&now, 0, sizeof(now));
	memcpy(&now.request, area, bytes);
	now.began_ns = now.grew_ns = clock_ns();
	memset(answer, 0, sizeof(*answer));
	answer->error = find(answer);
	return sizeof(*answer);
}

/* ---- in the tool ---- */

static uint64_t stall_ns(void)
{
	const char *seconds = getenv("DEBUGINFOD_TIMEOUT");
	unsigned long wanted = seconds ? strtoul(seconds, NULL, 10) : 0;

	return (wanted && wanted <= DEBUGINFOD_MAX_MS / 1000 ? wanted : DEBUGINFOD_STALL_S) *
	       1000000000ULL;
}

/* $DEBUGINFOD_MAXSIZE is libdebuginfod's for a file, as far as a server says how large that is. */
static uint64_t max_bytes(void)
{
	const char *bytes = getenv("DEBUGINFOD_MAXSIZE");
	unsigned long wanted = bytes ? strtoul(bytes, NULL, 10) : 0;

	return wanted && wanted < DEBUGINFOD_MAX_BYTES ? wanted : DEBUGINFOD_MAX_BYTES;
}

int debuginfod_new(struct debuginfod **debuginfod)
{
	/* it knows by itself when to give up; who has taken it over may not */
	const struct worker_limits limits = {
		.sleep_ms = stall_ns() / 1000000 + 3000,
		.cpu_ms = DEBUGINFOD_MAX_MS,
		.bytes = MAX_MEMORY,
		.writes = make_cache,
	};
	struct debuginfod *d = calloc(1, sizeof(*d));
	int error =
		d ? workers_new(&d->workers, 1, sizeof(struct answer), &limits, fetch) : -ENOMEM;

	if (error)
		free(d);
	else
		*debuginfod = d;
	return error;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	workers_free(d->workers);
	free(d);
}

/* what is left for a file */
static uint64_t left_ns(const struct debuginfod *d, bool trusted)
{
	uint64_t most = (trusted ? DEBUGINFOD_MAX_MS : DEBUGINFOD_OTHERS_MS) * 1000000ULL;

	return d->spent_ns[trusted] < most ? most - d->spent_ns[trusted] : 0;
}

/* 0 or -errno */
static int await(struct debuginfod *d, uint64_t end_ns, int interrupt_fd,
		 struct worker_answer *answer)
{
	struct pollfd fds[] = {
		{ .fd = workers_fd(d->workers), .events = POLLIN },
		{ .fd = interrupt_fd, .events = POLLIN },
	};

	while (!workers_take(d->workers, answer)) {
		if (clock_ns() > end_ns)
			return -ETIME;
		poll(fds, 2, WAIT_MS);
		if (fds[1].revents)
			return -EINTR;
	}
	return answer->error;
}

static int ask(struct debuginfod *d, const struct request *request, int interrupt_fd,
	       char path[PATH_MAX])
{
	struct worker_answer got = {};
	struct answer answer;
	int error = workers_ask(d->workers, 0, 0, request, sizeof(*request));

	if (!error)
		error = await(d, clock_ns() + request->max_ns + request->stall_ns, interrupt_fd,
			      &got);
	if (error)
		return error;
	if (got.nr != sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, got.bytes, sizeof(answer));
	d->spent_bytes += answer.error == -EFBIG ? request->max_bytes : answer.bytes;
	if (answer.error || !memchr(answer.path, 0, sizeof(answer.path)))
		return answer.error < 0 ? answer.error : -EBADMSG;
	strcpy(path, answer.path);
	return 0;
}

int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, size_t bytes, bool trusted,
		     int interrupt_fd, char path[PATH_MAX])
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct request request = { .bytes = bytes, .stall_ns = stall_ns() };
	uint64_t began = clock_ns();
	int error;

	if (!bytes || bytes > MAX_BUILD_ID || !urls || !*urls)
		return -ENOENT;
	if (d->error)
		return d->error;
	request.max_ns = left_ns(d, trusted);
	if (!request.max_ns)
		return -ETIME;
	request.max_bytes = d->spent_bytes < max_bytes() ? max_bytes() - d->spent_bytes : 0;
	if (!request.max_bytes)
		return -EFBIG;
	memcpy(request.build_id, build_id, bytes);
	error = ask(d, &request, interrupt_fd, path);
	d->spent_ns[trusted] += clock_ns() - began;
	/*
	 * Servers that hang do so for the next one, too; a child that was left behind is not
	 * replaced.
	 */
	if (error == -ETIMEDOUT || error == -EINTR || error == -ENOSYS ||
	    (error == -ETIME && clock_ns() - began > request.max_ns + request.stall_ns))
		d->error = error;
	return error;
}
