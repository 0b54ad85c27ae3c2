// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* what a stack's labels depend on */
struct path_key {
	const struct stack_frames *user, *kernel;
	uint64_t root, waker; /* hashes of 64 bits, whose seed nobody knows; 0: none */
	uint32_t pid, tid;    /* 0: of any process, of any thread */
	uint64_t end;         /* runtimes' frames are placed by it */
	char comm[16];
};

struct path {
	struct path_key key;
	UT_hash_handle hh;
	uint32_t number;
};

static uint64_t hash_of_waker(const struct stack_entry *waker)
{
	const struct {
		const struct stack_frames *user, *kernel;
		struct stack_key key;
	} all = { waker->user, waker->kernel, waker->key };

	return seeded_hash(NULL, 0, (const char *)&all, sizeof(all));
}

static struct path_key key_of(const struct stack_paths *paths, const struct stack_entry *entry)
{
	const char *root = paths->writer->root ? paths->writer->root(entry) : NULL;
	struct path_key key = {
		.user = entry->user,
		.kernel = entry->kernel,
		.root = root ? seeded_hash(NULL, 0, root, strlen(root)) : 0,
		.waker = entry->waker ? hash_of_waker(entry->waker) : 0,
		.pid = paths->by_thread || (entry->user && entry->user->own) ? entry->key.pid : 0,
		.tid = paths->by_thread ? entry->key.tid : 0,
		.end = entry->key.end,
	};

	memcpy(key.comm, entry->key.comm, sizeof(key.comm));
	return key;
}

int stack_paths_find(struct stack_paths *paths, const struct stack_entry *entry, uint32_t *number)
{
	struct path_key key = key_of(paths, entry);
	struct path *path;

	HASH_FIND(hh, paths->known, &key, sizeof(key), path);
	if (!path) {
		if (array_reserve(&paths->all, &paths->room, paths->nr + 1))
			return -ENOMEM;
		path = calloc(1, sizeof(*path));
		if (!path)
			return -ENOMEM;
		path->key = key;
		path->number = paths->nr;
		HASH_ADD(hh, paths->known, key, sizeof(path->key), path);
		paths->all[paths->nr] = *entry;
		paths->all[paths->nr++].value = (struct stack_value){};
	}
	*number = path->number;
	return 0;
}

void stack_paths_free(struct stack_paths *paths)
{
	hash_free_all(paths->known);
	free(paths->all);
	*paths = (struct stack_paths){};
}
