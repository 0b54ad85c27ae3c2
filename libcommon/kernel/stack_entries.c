// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes entries from the records in the store: each value with the stacks of its key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/stack_store_parts.h"

static const struct stack_frames *find_stack(struct stored_stack *stacks, uint64_t id)
{
	struct stored_stack *stack = NULL;

	if (id)
		HASH_FIND(hh, stacks, &id, sizeof(id), stack);
	return stack ? &stack->frames : NULL;
}

const struct stack_frames *stack_store_find(const struct stack_store *store, uint64_t id, bool user)
{
	return find_stack(user ? store->user : store->kernel, id);
}

/* the key's user stack, or what stands in its place */
static const struct stack_frames *user_stack_of(const struct stack_store *store,
						const struct stack_key *key)
{
	const struct stack_frames *frames = find_stack(store->user, key->user_stack);
	struct owner *owner = NULL;

	if (frames || !key->user_stack)
		return frames;
	HASH_FIND(hh, store->owners, &key->uid, sizeof(key->uid), owner);
	return owner && owner->was_full ? &owner->mark : NULL;
}

/* the key, completed by the stack that came later; without a user stack if none has come */
static void complete(const struct stack_store *store, struct stack_key *key)
{
	struct late_stack *late;

	HASH_FIND(hh, store->late, &key->user_stack, sizeof(key->user_stack), late);
	key->user_stack = late ? late->user_stack : 0;
	key->end = late ? late->end : END_UNREADABLE;
	if (late)
		key->flags &= ~STACK_PENDING;
}

static void find_frames(const struct stack_store *store, struct stack_entry *entry)
{
	entry->user = user_stack_of(store, &entry->key);
	entry->kernel = find_stack(store->kernel, entry->key.kernel_stack);
	if (entry->key.user_stack && !entry->user)
		entry->key.end = END_LOST;
}

static const struct stack_entry *entry_of(const struct stack_store *store,
					  struct stored_key *stored)
{
	if (!stored)
		return NULL;
	stored->entry.key = stored->key;
	if (stored->key.flags & STACK_PENDING)
		complete(store, &stored->entry.key);
	find_frames(store, &stored->entry);
	return &stored->entry;
}

const struct stack_entry *stack_store_key(const struct stack_store *store, uint64_t id)
{
	struct stored_key *stored = NULL;

	if (id)
		HASH_FIND(hh, store->keys, &id, sizeof(id), stored);
	return entry_of(store, stored);
}

const struct stack_entry *stack_store_numbered(const struct stack_store *store, uint32_t number)
{
	return number && number <= store->nr_numbered ? entry_of(store, store->numbered[number - 1])
						      : NULL;
}

static int by_stacks(const void *left, const void *right)
{
	const struct stack_entry *l = left, *r = right;
	struct stack_key l_key = l->key, r_key = r->key;
	int order;

	l_key.waker = r_key.waker = 0;
	order = memcmp(&l_key, &r_key, sizeof(l_key));
	if (order || !l->waker || !r->waker)
		return order ? order : !!l->waker - !!r->waker;
	return memcmp(&l->waker->key, &r->waker->key, sizeof(l->waker->key));
}

/*
 * Those whose wakers had IDs of their own only as long as these were pending become one. How many
 * are left
 */
static size_t merge_same(struct stack_entry *entries, size_t nr)
{
	size_t kept = 0;

	qsort(entries, nr, sizeof(*entries), by_stacks);
	for (size_t i = 1; i < nr; i++) {
		if (by_stacks(&entries[kept], &entries[i]))
			entries[++kept] = entries[i];
		else
			stack_value_add(&entries[kept].value, &entries[i].value);
	}
	return nr ? kept + 1 : 0;
}

/* The kernel has values by stacks that were refused here. */
static void sum_without_room(struct stack_entry *entry)
{
	if (!entry->user || !FRAME_IS_NO_ROOM(entry->user->frames[0]))
		return;
	entry->key = key_of_sum(&entry->key);
	entry->kernel = NULL;
	entry->waker = NULL;
}

int stack_store_hand_out(struct stack_store *store, uint32_t mask, uint32_t flags,
			 struct stack_entry **entries, size_t *nr)
{
	struct stored_value *value, *next;
	uint32_t uid;
	int error = stack_store_drain(store, 0);

	if (!error)
		error = stack_store_read_values(store);
	if (!error)
		/* the frames of stacks that are new among the values */
		error = stack_store_drain(store, 0);
	if (error)
		return error;
	free(store->entries);
	store->entries = calloc(HASH_COUNT(store->values) + 1, sizeof(*store->entries));
	if (!store->entries)
		return -ENOMEM;
	*nr = 0;
	HASH_ITER(hh, store->values, value, next) {
		struct stack_value rest = value->value;

		stack_value_add(&rest, &value->in_map);
		take_away(&rest, &value->handed_out);
		if (is_nothing(&rest) || (value->key.flags & mask) != flags)
			continue;
		store->entries[*nr] = (struct stack_entry){
			.key = value->key,
			.value = rest,
			.waker = stack_store_key(store, value->key.waker),
		};
		find_frames(store, &store->entries[*nr]);
		sum_without_room(&store->entries[(*nr)++]);
		stack_value_add(&value->handed_out, &rest);
	}
	if (store->late || stack_store_crowded(store, &uid))
		*nr = merge_same(store->entries, *nr);
	*entries = store->entries;
	return 0;
}
