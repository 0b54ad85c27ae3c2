// SPDX-License-Identifier: GPL-2.0-or-later
/* Frees what no later report needs, in the store and in the kernel's maps. */
#include <bpf/bpf.h>
#include <errno.h>

#include "kernel/stack_store_parts.h"

static bool is_handed_out(const struct stored_value *stored)
{
	struct stack_value rest = stored->value;

	stack_value_add(&rest, &stored->in_map);
	take_away(&rest, &stored->handed_out);
	return is_nothing(&rest);
}

static void uncharge(struct stack_store *store, struct owner *owner, size_t bytes)
{
	owner->bytes -= bytes;
	store->bytes -= bytes;
}

/*
 * What the kernel's map has got since it was read last is kept, for the next report. An addition
 * that is under way on another CPU in the nanoseconds between its look-up and its sum is lost, of a
 * value that has rested since the last report.
 */
static void forget_value(struct stack_store *store, struct stored_value *stored)
{
	struct stack_value now = {};

	if (bpf_map_lookup_and_delete_elem(store->values_fd, &stored->key, &now) && errno != ENOENT)
		return;
	stack_value_add(&stored->value, &now);
	stored->in_map = (struct stack_value){};
	if (!is_handed_out(stored))
		return;
	HASH_DEL(store->values, stored);
	uncharge(store, stored->owner, sizeof(*stored));
	free(stored);
}

static void forget_values(struct stack_store *store)
{
	struct stored_value *stored, *next;

	HASH_ITER(hh, store->values, stored, next) {
		bool rests = !stored->grew;

		stored->grew = false;
		if (rests && is_handed_out(stored))
			forget_value(store, stored);
	}
}

static void use_stack(struct stored_stack *stacks, uint64_t id)
{
	struct stored_stack *stack = NULL;

	if (id)
		HASH_FIND(hh, stacks, &id, sizeof(id), stack);
	if (stack)
		stack->used = true;
}

/* of the key, and of the waker that it names */
static void use_stacks_of(struct stack_store *store, const struct stack_key *key)
{
	struct stored_key *waker = NULL;

	use_stack(store->user, key->user_stack);
	use_stack(store->kernel, key->kernel_stack);
	if (key->waker)
		HASH_FIND(hh, store->keys, &key->waker, sizeof(key->waker), waker);
	if (waker)
		waker->used = true;
}

static void use_stacks(struct stack_store *store)
{
	struct stored_value *value, *next_value;
	struct pending *pending, *next_pending;
	struct late_stack *late, *next_late;
	struct stored_key *key, *next_key;

	HASH_ITER(hh, store->values, value, next_value)
		use_stacks_of(store, &value->key);
	HASH_ITER(hh, store->pending, pending, next_pending)
		use_stacks_of(store, &pending->key);
	HASH_ITER(hh, store->keys, key, next_key)
		use_stacks_of(store, &key->key);
	HASH_ITER(hh, store->late, late, next_late)
		use_stack(store->user, late->user_stack);
}

/*
 * Is what was sent under this ID to be forgotten? What nothing names is to be sent again when it is
 * seen again. A program that is at work now may still believe it to be sent: it goes in the next
 * round, if nothing names it then.
 */
static bool is_over(const struct stack_store *store, uint64_t id, bool *used, bool *sent_again)
{
	bool over = !*used && *sent_again;

	if (!over && !*used)
		bpf_map_delete_elem(store->sent_fd, &id);
	*sent_again = !*used;
	*used = false;
	return over;
}

static void forget_stacks(struct stack_store *store, struct stored_stack **stacks)
{
	struct stored_stack *stack, *next;

	HASH_ITER(hh, *stacks, stack, next) {
		if (!is_over(store, stack->id, &stack->used, &stack->sent_again))
			continue;
		HASH_DEL(*stacks, stack);
		uncharge(store, stack->owner, stack->bytes);
		free(stack);
	}
}

static void forget_late(struct stack_store *store, uint64_t token)
{
	struct late_stack *late;

	HASH_FIND(hh, store->late, &token, sizeof(token), late);
	if (!late)
		return;
	HASH_DEL(store->late, late);
	uncharge(store, late->owner, sizeof(*late));
	free(late);
}

/* wakers that no value names */
static void forget_keys(struct stack_store *store)
{
	struct stored_key *key, *next;

	HASH_ITER(hh, store->keys, key, next) {
		if (!is_over(store, key->id, &key->used, &key->sent_again))
			continue;
		HASH_DEL(store->keys, key);
		if (key->number)
			store->numbered[key->number - 1] = NULL;
		if (key->key.flags & STACK_PENDING)
			forget_late(store, key->key.user_stack);
		uncharge(store, key->owner, sizeof(*key));
		free(key);
	}
}

void stack_store_forget(struct stack_store *store, bool stacks)
{
	forget_values(store);
	for (struct owner *owner = store->owners; owner; owner = owner->hh.next)
		owner->is_full = false;
	if (!stacks)
		return;
	use_stacks(store);
	forget_keys(store);
	forget_stacks(store, &store->user);
	forget_stacks(store, &store->kernel);
}

void stack_store_each_stack(const struct stack_store *store, see_frames_fn *see, void *see_arg)
{
	for (const struct stored_stack *stack = store->user; stack; stack = stack->hh.next)
		see(see_arg, stack->frames.frames, stack->frames.nr);
	if (store->each_copy)
		store->each_copy(store->copies_arg, see, see_arg);
}

void stack_store_add_copies(struct stack_store *store,
			    void (*each)(void *arg, see_frames_fn *see, void *see_arg), void *arg)
{
	store->each_copy = each;
	store->copies_arg = arg;
}
