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

/* A text that names of one account share: a function has one name at many addresses. */
struct shared_text {
	size_t nr_users;
	struct name_account *account;
	char text[];
};

static struct shared_text *shared_text_of(const char *text)
{
	return (struct shared_text *)(text - offsetof(struct shared_text, text));
}

static void charge(struct known_names *names, struct name_account *account, ssize_t bytes)
{
	names->bytes += bytes;
	account->bytes += bytes;
	if (account->user && bytes > 0)
		user_room_charge(account->user, bytes);
	else if (account->user)
		user_room_give(account->user, -bytes);
}

/* A copy with one user. NULL: no memory */
static char *shared_text_new(struct known_names *names, const char *text,
			     struct name_account *account)
{
	size_t bytes = strlen(text) + 1;
	struct shared_text *shared = malloc(sizeof(*shared) + bytes);

	if (!shared)
		return NULL;
	*shared = (struct shared_text){ .nr_users = 1, .account = account };
	memcpy(shared->text, text, bytes);
	charge(names, account, bytes);
	return shared->text;
}

/* one user less; NULL may be released */
static void release_text(struct known_names *names, char *text)
{
	struct shared_text *shared;

	if (!text)
		return;
	shared = shared_text_of(text);
	if (--shared->nr_users)
		return;
	charge(names, shared->account, -(ssize_t)strlen(text) - 1);
	free(shared);
}

/* a user of the last text if it is the same. NULL: none, or no memory */
static char *like_last(struct known_names *names, char **last, const char *text,
		       struct name_account *account)
{
	if (!text)
		return NULL;
	if (!*last || shared_text_of(*last)->account != account || strcmp(*last, text)) {
		release_text(names, *last);
		*last = shared_text_new(names, text, account);
	}
	if (*last)
		shared_text_of(*last)->nr_users++;
	return *last;
}

static void drop(struct known_names *names, struct known_name *known)
{
	HASH_DEL(names->all, known);
	charge(names, known->account, -(ssize_t)sizeof(*known));
	release_text(names, known->symbol);
	release_text(names, known->raw);
	free(known);
}

int known_names_add(struct known_names *names, uint64_t source, const struct named_frame *found,
		    const char *symbol, const char *raw, struct name_account *account)
{
	struct known_name *known = known_names_find(names, source, found->frame);

	if (known && (!symbol || (known->symbol && !strcmp(known->symbol, symbol)))) {
		known->found = symbol ? *found : known->found;
		known->named = names->round;
		return 0;
	}
	if (known)
		drop(names, known);
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key.source = source;
	known->key.frame = found->frame;
	known->found = *found;
	known->symbol = like_last(names, &names->last_symbol, symbol, account);
	known->raw = like_last(names, &names->last_raw, raw, account);
	known->asked = known->named = names->round;
	known->account = account;
	charge(names, account, sizeof(*known));
	HASH_ADD(hh, names->all, key, sizeof(known->key), known);
	return 0;
}

void known_names_forget(struct known_names *names, bool (*gone)(void *arg, uint64_t source),
			void *arg, size_t bytes)
{
	struct known_name *known, *next;

	HASH_ITER(hh, names->all, known, next)
		if (gone(arg, known->key.source) ||
		    (names->bytes > bytes && names->round - known->asked > 1))
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
	release_text(names, names->last_symbol);
	release_text(names, names->last_raw);
	names->last_symbol = names->last_raw = NULL;
}
