// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* of libdebuginfod.so.1; not linked, because it brings libcurl and 30 more libraries into every start */
struct api {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int bytes, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
};

struct download {
	struct debuginfod *debuginfod;
	uint64_t began_ns;
};

/* libdebuginfod's progress function gets nothing but the client */
static _Thread_local const struct download *current;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static bool time_is_up(const struct debuginfod *d, uint64_t began_ns)
{
	return d->spent_ns + (now_ns() - began_ns) >= d->seconds * 1000000000ULL;
}

static int on_progress(void *client, long bytes, long total)
{
	(void)client;
	if (time_is_up(current->debuginfod, current->began_ns))
		return 1;
	return current->debuginfod->progress &&
	       current->debuginfod->progress(current->debuginfod->arg, bytes, total);
}

static bool load(struct debuginfod *d, struct api *api)
{
#ifndef EHPERF_STATIC	/* it would bring another libc with it */
	if (!d->library)
		d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
	if (!d->library)
		return false;
	*(void **)&api->begin = dlsym(d->library, "debuginfod_begin");
	*(void **)&api->end = dlsym(d->library, "debuginfod_end");
	*(void **)&api->find = dlsym(d->library, "debuginfod_find_debuginfo");
	*(void **)&api->set_progress = dlsym(d->library, "debuginfod_set_progressfn");
	return api->begin && api->end && api->find && api->set_progress;
}

int debuginfod_open(struct debuginfod *d, const uint8_t *build_id, size_t bytes)
{
	struct download download = { .debuginfod = d, .began_ns = now_ns() };
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct api api;
	void *client;
	int fd;

	if (!bytes || !urls || !*urls)
		return -ENOENT;
	if (time_is_up(d, download.began_ns))
		return -ETIME;
	if (!load(d, &api))
		return -ENOSYS;
	client = api.begin();
	if (!client)
		return -ENOMEM;
	current = &download;
	api.set_progress(client, on_progress);
	fd = api.find(client, build_id, bytes, NULL);
	api.end(client);
	d->spent_ns += now_ns() - download.began_ns;
	return fd;
}

void debuginfod_close(struct debuginfod *d)
{
	if (d->library)
		dlclose(d->library);
	d->library = NULL;
}
