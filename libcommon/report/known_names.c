// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/known_names.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct known_name *known_names_find(struct known_names *names, uint64_t source, uint64_t frame)
{
	struct known_name key = { .key = { source, frame } }, *known;

	HASH_FIND(hh, names->all, &key.key, sizeof(key.key), known);
	if (known)
		known->asked = names->round;
	return known;
}

/* A symbol that many names share: a function has one name at many addresses. */
struct shared_text {
	size_t nr_users;
	char text[];
};

static struct shared_text *shared_text_of(const char *text)
{
	return (struct shared_text *)(text - offsetof(struct shared_text, text));
}

/* A copy with one user. NULL: no memory */
static char *shared_text_new(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct shared_text *shared = malloc(sizeof(*shared) + bytes);

	if (!shared)
		return NULL;
	shared->nr_users = 1;
	memcpy(shared->text, text, bytes);
	return shared->text;
}

/* one user less; NULL may be released */
static void release_symbol(struct known_names *names, char *symbol)
{
	if (!symbol || --shared_text_of(symbol)->nr_users)
		return;
	names->bytes -= strlen(symbol);
	free(shared_text_of(symbol));
}

/* a user of the last symbol if it is the same. NULL: none, or no memory */
static char *symbol_like_last(struct known_names *names, const char *symbol)
{
	if (!symbol)
		return NULL;
	if (!names->last_symbol || strcmp(names->last_symbol, symbol)) {
		release_symbol(names, names->last_symbol);
		names->last_symbol = shared_text_new(symbol);
		names->bytes += names->last_symbol ? strlen(symbol) : 0;
	}
	if (names->last_symbol)
		shared_text_of(names->last_symbol)->nr_users++;
	return names->last_symbol;
}

static size_t bytes_of(const struct known_name *known)
{
	return sizeof(*known) + (known->raw ? strlen(known->raw) : 0);
}

int known_names_add(struct known_names *names, uint64_t source, const struct named_frame *found,
		    const char *symbol, const char *raw)
{
	struct known_name *known;

	if (known_names_find(names, source, found->frame))
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key.source = source;
	known->key.frame = found->frame;
	known->found = *found;
	known->symbol = symbol_like_last(names, symbol);
	known->raw = raw ? strdup(raw) : NULL;
	known->asked = names->round;
	names->bytes += bytes_of(known);
	HASH_ADD(hh, names->all, key, sizeof(known->key), known);
	return 0;
}

static void drop(struct known_names *names, struct known_name *known)
{
	HASH_DEL(names->all, known);
	names->bytes -= bytes_of(known);
	release_symbol(names, known->symbol);
	free(known->raw);
	free(known);
}

void known_names_forget(struct known_names *names, bool (*gone)(void *arg, uint64_t source), void *arg,
			size_t bytes)
{
	struct known_name *known, *next;

	HASH_ITER(hh, names->all, known, next)
		if (gone(arg, known->key.source) || (names->bytes > bytes && names->round - known->asked > 1))
			drop(names, known);
	names->round++;
}

void known_names_forget_source(struct known_names *names, uint64_t source)
{
	struct known_name *known, *next;

	HASH_ITER(hh, names->all, known, next)
		if (known->key.source == source)
			drop(names, known);
}

void known_names_free(struct known_names *names)
{
	struct known_name *known, *next;

	HASH_ITER(hh, names->all, known, next)
		drop(names, known);
	release_symbol(names, names->last_symbol);
	names->last_symbol = NULL;
}
