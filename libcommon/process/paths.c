// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/paths.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct path {
	UT_hash_handle hh;
	size_t nr_users;
	char text[];
};

static struct path *all;

static struct path *path_of(char *text)
{
	return (struct path *)(text - offsetof(struct path, text));
}

char *path_get(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct path *path;

	HASH_FIND(hh, all, text, bytes, path);
	if (path)
		return path_share(path->text);
	path = malloc(sizeof(*path) + bytes);
	if (!path)
		return NULL;
	path->nr_users = 1;
	memcpy(path->text, text, bytes);
	HASH_ADD(hh, all, text, bytes, path);
	return path->text;
}

char *path_share(char *path)
{
	path_of(path)->nr_users++;
	return path;
}

void path_release(char *text)
{
	struct path *path = text ? path_of(text) : NULL;

	if (!path || --path->nr_users)
		return;
	HASH_DEL(all, path);
	free(path);
}
