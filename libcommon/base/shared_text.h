/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that many objects share, such as the name of a function at many addresses. For one thread; not to be changed */
#ifndef EHPERF_BASE_SHARED_TEXT_H
#define EHPERF_BASE_SHARED_TEXT_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shared_text {
	size_t nr_users;
	char text[];
};

static inline struct shared_text *shared_text_of(const char *text)
{
	return (struct shared_text *)(text - offsetof(struct shared_text, text));
}

/* A copy with one user. NULL: no memory */
static inline char *shared_text_new(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct shared_text *shared = malloc(sizeof(*shared) + bytes);

	if (!shared)
		return NULL;
	shared->nr_users = 1;
	memcpy(shared->text, text, bytes);
	return shared->text;
}

/* one user more of what shared_text_new() has made */
static inline char *shared_text_share(char *text)
{
	shared_text_of(text)->nr_users++;
	return text;
}

/* one user less; NULL may be released */
static inline void shared_text_release(char *text)
{
	if (text && !--shared_text_of(text)->nr_users)
		free(shared_text_of(text));
}

#endif
