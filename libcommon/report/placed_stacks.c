// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/placed_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

struct placed_key {
	const struct stack_frames *user;
	uint64_t end;
};

/* where these frames have been placed: many entries share them */
struct placed_frames {
	struct placed_key key;
	UT_hash_handle hh;
	const struct stack_frames *to;
	struct runtime_calls calls[MAX_RUNTIMES];
};

/* memory that placed_stacks_free() frees, or NULL */
static void *keep(struct placed_stacks *placed, size_t bytes)
{
	void *memory =
		array_reserve(&placed->all, &placed->room, placed->nr + 1) ? NULL : malloc(bytes);

	if (memory)
		placed->all[placed->nr++] = memory;
	return memory;
}

/* the runtime whose frames lie behind the native ones; NULL: there are none */
static const struct runtime *runtime_behind(const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user;
	const struct runtime *runtime =
		user && user->nr ? runtime_of_frame(user->frames[user->nr - 1]) : NULL;

	return runtime && runtime->place ? runtime : NULL;
}

static int place_frames(struct placed_stacks *placed, const struct placing *how,
			const struct stack_entry *entry, struct placed_frames *known)
{
	const struct stack_frames *user = entry->user;
	const struct runtime *behind = runtime_behind(entry);
	struct stack_frames *to = NULL;

	if (behind) {
		to = keep(placed, sizeof(*to) + user->nr * sizeof(to->frames[0]));
		if (!to)
			return -ENOMEM;
		*to = (struct stack_frames){ .own = user->own };
	}
	for (size_t i = 0; all_runtimes[i]; i++) {
		const struct runtime *runtime = all_runtimes[i];
		uint32_t nr;

		if (!runtime->place)
			continue;
		nr = runtime->place(runtime_names_of(how->names, i), how->modules, user->frames,
				    user->nr, entry->key.end == END_COMPLETE, how->keep_native,
				    runtime == behind ? to->frames : NULL, &known->calls[i]);
		if (runtime == behind)
			to->nr = nr;
	}
	known->to = to ? to : user;
	return 0;
}

static int place(struct placed_stacks *placed, const struct placing *how, struct stack_entry *entry)
{
	struct placed_key key = { entry->user, entry->key.end };
	struct placed_frames *known;
	int error;

	HASH_FIND(hh, placed->known, &key, sizeof(key), known);
	if (!known) {
		known = calloc(1, sizeof(*known));
		error = known ? place_frames(placed, how, entry, known) : -ENOMEM;
		if (error) {
			free(known);
			return error;
		}
		known->key = key;
		HASH_ADD(hh, placed->known, key, sizeof(known->key), known);
	}
	for (size_t i = 0; all_runtimes[i]; i++) { /* a waker has no value */
		placed->calls[i].all += known->calls[i].all * entry->value.count;
		placed->calls[i].named += known->calls[i].named * entry->value.count;
	}
	entry->user = known->to;
	return 0;
}

/* entries share their wakers, which are not ours to change */
static int place_waker(struct placed_stacks *placed, const struct placing *how,
		       struct stack_entry *entry)
{
	struct stack_entry *waker = keep(placed, sizeof(*waker));

	if (!waker)
		return -ENOMEM;
	*waker = *entry->waker;
	entry->waker = waker;
	return place(placed, how, waker);
}

int placed_stacks_add(struct placed_stacks *placed, const struct placing *how,
		      struct stack_entry *entries, size_t nr)
{
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++) {
		if (entries[i].user)
			error = place(placed, how, &entries[i]);
		if (!error && entries[i].waker && runtime_behind(entries[i].waker))
			error = place_waker(placed, how, &entries[i]);
	}
	hash_free_all(placed->known);
	return error;
}

void placed_stacks_free(struct placed_stacks *placed)
{
	for (size_t i = 0; i < placed->nr; i++)
		free(placed->all[i]);
	free(placed->all);
	*placed = (struct placed_stacks){};
}
