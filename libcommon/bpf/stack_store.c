// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/stack_store.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "records_abi.h"
#include "unwind/cut_stack.h"

struct stored_stack {
	uint64_t id;
	UT_hash_handle hh;
	struct stack_frames frames;	/* the last member: its frames follow */
};

struct stored_value {
	struct stack_key key;
	/* from value records; in the kernel's map when it was last read */
	struct stack_value value, in_map;
	struct stack_value handed_out;		/* the part of value + in_map that was handed out already */
	UT_hash_handle hh;
};

/* A key that others name by its ID, as struct stack_entry has it */
struct stored_key {
	uint64_t id;
	struct stack_entry entry;
	UT_hash_handle hh;
};

/* The user stack that completes a key with STACK_SENT_APART and STACK_PENDING. */
struct late_stack {
	uint64_t token, user_stack;
	uint32_t end;
	UT_hash_handle hh;
};

/* A sample with STACK_PENDING has two halves, its stack and its value: the one that came first waits here. */
struct pending {
	uint64_t token;
	struct stack_key key;
	bool has_stack;			/* false: it has the value: */
	struct stack_value value;
	UT_hash_handle hh;
};

struct stack_store {
	struct ring_buffer *ring;
	int values_fd, stats_fd;
	struct stored_stack *user, *kernel;
	struct stored_value *values;
	struct pending *pending;
	struct stored_key *keys;
	struct late_stack *late;
	struct stack_entry *entries;
	int (*take)(void *arg, const void *record, size_t bytes);
	void *arg;
	int (*on_stack)(void *arg, pid_t pid, uint64_t *frames, uint32_t *nr);
	void *on_stack_arg;
	/* of the other ring */
	int (*take_other)(void *arg, const void *record, size_t bytes);
	void *other_arg;
	int error;
};

/* *added: the new one; NULL: it was there */
static int add_stack(struct stored_stack **stacks, uint64_t id, const __u64 *frames, uint32_t nr,
		     struct stored_stack **added)
{
	size_t bytes = nr * sizeof(*frames);
	struct stored_stack *stack;

	*added = NULL;
	HASH_FIND(hh, *stacks, &id, sizeof(id), stack);
	if (stack)
		return 0;
	stack = malloc(sizeof(*stack) + bytes);
	if (!stack)
		return -ENOMEM;
	stack->id = stack->frames.id = id;
	stack->frames.nr = nr;
	memcpy(stack->frames.frames, frames, bytes);
	HASH_ADD(hh, *stacks, id, sizeof(stack->id), stack);
	*added = stack;
	return 0;
}

static int add_user_stack(struct stack_store *store, uint64_t id, pid_t pid, const __u64 *frames, uint32_t nr)
{
	struct stored_stack *added;
	int error = add_stack(&store->user, id, frames, nr, &added);

	if (error || !added || !store->on_stack)
		return error;
	return store->on_stack(store->on_stack_arg, pid, added->frames.frames, &added->frames.nr);
}

/* A user stack's frames are in their places, and there are fewer than the walk had if that was too deep. */
static int take_user_stack(struct stack_store *store, const struct frames_record *record, size_t size)
{
	const struct frames_header *stack = &record->stack;
	uint32_t nr_walked = stack->nr_frames, nr = (size - sizeof(*record)) / sizeof(record->frames[0]);
	uint64_t frames[MAX_DEPTH + 1];

	if (size < sizeof(*record) || nr > MAX_DEPTH || (!nr && nr_walked))
		return -EBADMSG;
	if (nr_walked <= nr)
		return add_user_stack(store, stack->id, stack->pid, record->frames, nr_walked);
	nr = cut_stack_order(frames, (const uint64_t *)record->frames, nr_walked, nr);
	return add_user_stack(store, stack->id, stack->pid, (const __u64 *)frames, nr);
}

static int take_kernel_stack(struct stack_store *store, const struct frames_record *record, size_t size)
{
	struct stored_stack *added;

	if (size < sizeof(*record) + record->stack.nr_frames * sizeof(record->frames[0]))
		return -EBADMSG;
	return add_stack(&store->kernel, record->stack.id, record->frames, record->stack.nr_frames, &added);
}

static void sum_up(struct stack_value *sum, const struct stack_value *value)
{
	sum->count += value->count;
	sum->blocked_ns += value->blocked_ns;
	sum->waiting_ns += value->waiting_ns;
}

static void take_away(struct stack_value *sum, const struct stack_value *value)
{
	sum->count -= value->count;
	sum->blocked_ns -= value->blocked_ns;
	sum->waiting_ns -= value->waiting_ns;
}

/* NULL: no memory */
static struct stored_value *value_of(struct stack_store *store, const struct stack_key *key)
{
	struct stored_value *stored;

	HASH_FIND(hh, store->values, key, sizeof(*key), stored);
	if (stored)
		return stored;
	stored = calloc(1, sizeof(*stored));
	if (!stored)
		return NULL;
	stored->key = *key;
	HASH_ADD(hh, store->values, key, sizeof(stored->key), stored);
	return stored;
}

static int add_value(struct stack_store *store, const struct stack_key *key, const struct stack_value *value)
{
	struct stored_value *stored = value_of(store, key);

	if (!stored)
		return -ENOMEM;
	sum_up(&stored->value, value);
	return 0;
}

/* the value's key, completed by the stack and the end that unwinding has yielded */
static struct stack_key joined(const struct stack_key *stack, const struct stack_key *value)
{
	struct stack_key key = *value;

	key.user_stack = stack->user_stack;
	key.end = stack->end;
	key.flags &= ~STACK_PENDING;
	return key;
}

/*
 * Takes one half of a pending sample: the stack if value is NULL, else the value. With both halves, adds the
 * value.
 */
static int join(struct stack_store *store, uint64_t token, const struct stack_key *key,
		const struct stack_value *value)
{
	struct pending *pending;
	struct stack_key whole;
	int error;

	HASH_FIND(hh, store->pending, &token, sizeof(token), pending);
	if (pending && pending->has_stack == !value)
		return 0;	/* the same half again */
	if (pending) {
		whole = value ? joined(&pending->key, key) : joined(key, &pending->key);
		error = add_value(store, &whole, value ? value : &pending->value);
		HASH_DEL(store->pending, pending);
		free(pending);
		return error;
	}
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	pending->token = token;
	pending->key = *key;
	pending->has_stack = !value;
	if (value)
		pending->value = *value;
	HASH_ADD(hh, store->pending, token, sizeof(pending->token), pending);
	return 0;
}

static int take_value(struct stack_store *store, const struct stack_key *key, const struct stack_value *value)
{
	return key->flags & STACK_PENDING ? join(store, key->user_stack, key, value) :
					    add_value(store, key, value);
}

/* Adds the pending values whose stacks never came, without a user stack. */
static int give_up_pending(struct stack_store *store)
{
	struct pending *pending, *next;
	int error = 0;

	HASH_ITER(hh, store->pending, pending, next) {
		struct stack_key no_stack = { .end = END_UNREADABLE }, key = joined(&no_stack, &pending->key);

		if (!pending->has_stack && !error)
			error = add_value(store, &key, &pending->value);
		HASH_DEL(store->pending, pending);
		free(pending);
	}
	return error;
}

static int take_key(struct stack_store *store, uint64_t id, const struct stack_key *key)
{
	struct stored_key *stored;

	HASH_FIND(hh, store->keys, &id, sizeof(id), stored);
	if (stored)
		return 0;
	stored = calloc(1, sizeof(*stored));
	if (!stored)
		return -ENOMEM;
	stored->id = id;
	stored->entry.key = *key;
	HASH_ADD(hh, store->keys, id, sizeof(stored->id), stored);
	return 0;
}

static int add_late(struct stack_store *store, uint64_t token, const struct stack_key *key)
{
	struct late_stack *late = calloc(1, sizeof(*late));

	if (!late)
		return -ENOMEM;
	*late = (struct late_stack){ .token = token, .user_stack = key->user_stack, .end = key->end };
	HASH_ADD(hh, store->late, token, sizeof(late->token), late);
	return 0;
}

static int take_record(void *arg, void *bytes, size_t size)
{
	struct stack_store *store = arg;
	const struct frames_record *record = bytes;
	const struct value_record *value = bytes;
	const struct key_record *key = bytes;
	int error = -EBADMSG;

	if (record->stack.kind == RECORD_VALUE && size >= sizeof(*value))
		error = take_value(store, &value->key, &value->value);
	else if (record->stack.kind == RECORD_USER_STACK)
		error = take_user_stack(store, record, size);
	else if (record->stack.kind == RECORD_KERNEL_STACK)
		error = take_kernel_stack(store, record, size);
	else if (record->stack.kind == RECORD_KEY && size >= sizeof(*key))
		error = take_key(store, key->id, &key->key);
	else if (store->take)
		error = store->take(store->arg, bytes, size);
	if (error)
		store->error = error;
	return 0;
}

int stack_store_new(struct stack_store **store, struct bpf_object *object)
{
	struct stack_store *s = calloc(1, sizeof(*s));
	int error = 0;

	if (!s)
		return -ENOMEM;
	s->values_fd = bpf_object__find_map_fd_by_name(object, "values");
	s->stats_fd = bpf_object__find_map_fd_by_name(object, "stats");
	s->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "records"), take_record, s, NULL);
	if (!s->ring)
		error = -errno;
	else if (s->values_fd < 0 || s->stats_fd < 0)
		error = -ENOENT;
	if (error)
		stack_store_free(s);
	else
		*store = s;
	return error;
}

void stack_store_free(struct stack_store *store)
{
	if (!store)
		return;
	hash_free_all(store->values);
	hash_free_all(store->user);
	hash_free_all(store->kernel);
	hash_free_all(store->pending);
	hash_free_all(store->keys);
	hash_free_all(store->late);
	free(store->entries);
	ring_buffer__free(store->ring);
	free(store);
}

int stack_store_take(struct stack_store *store, const void *record, size_t bytes)
{
	take_record(store, (void *)record, bytes);
	return store->error;
}

static int take_other(void *arg, void *record, size_t bytes)
{
	struct stack_store *store = arg;
	int error = store->take_other(store->other_arg, record, bytes);

	if (error)
		store->error = error;
	return 0;
}

int stack_store_add_ring(struct stack_store *store, struct bpf_object *object, const char *map,
			 int (*take)(void *arg, const void *record, size_t bytes), void *arg)
{
	store->take_other = take;
	store->other_arg = arg;
	return ring_buffer__add(store->ring, bpf_object__find_map_fd_by_name(object, map), take_other, store);
}

int stack_store_drain(struct stack_store *store)
{
	int taken = ring_buffer__consume(store->ring);

	return taken < 0 ? taken : store->error;
}

int stack_store_fd(const struct stack_store *store)
{
	return ring_buffer__epoll_fd(store->ring);
}

void stack_store_on_stack(struct stack_store *store,
			  int (*on_stack)(void *arg, pid_t pid, uint64_t *frames, uint32_t *nr), void *arg)
{
	store->on_stack = on_stack;
	store->on_stack_arg = arg;
}

void stack_store_pass_on(struct stack_store *store, int (*take)(void *arg, const void *record, size_t bytes),
			 void *arg)
{
	store->take = take;
	store->arg = arg;
}

int stack_store_add(struct stack_store *store, const struct stack_key *key, const struct stack_value *value,
		    uint64_t token, const uint64_t *frames, uint32_t nr_frames)
{
	int error = 0;

	if (key->user_stack)
		error = add_user_stack(store, key->user_stack, key->pid, (const __u64 *)frames, nr_frames);
	if (error)
		return error;
	if (key->flags & STACK_SENT_APART)
		return add_late(store, token, key);
	return key->flags & STACK_PENDING ? join(store, token, key, NULL) : add_value(store, key, value);
}

/*
 * A value read from the kernel's map. A pending key's token makes it unique, so that its value does not grow.
 */
static int take_kept(struct stack_store *store, const struct stack_key *key, const struct stack_value *value)
{
	struct stored_value *stored;

	if (key->flags & STACK_PENDING)
		return take_value(store, key, value);
	stored = value_of(store, key);
	if (!stored)
		return -ENOMEM;
	stored->in_map = *value;
	return 0;
}

/* Deletes the pending values that were taken: they are not taken again, when the map is read once more. */
static void delete_pending(const struct stack_store *store, const struct stack_key *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		bpf_map_delete_elem(store->values_fd, &keys[i]);
}

static int read_values(struct stack_store *store)
{
	struct stack_key key, next, *last = NULL, *pending = NULL;
	size_t nr_pending = 0, room = 0;
	struct stack_value value;
	int error = 0;

	while (!error) {
		if (bpf_map_get_next_key(store->values_fd, last, &next)) {
			error = errno == ENOENT ? 0 : -errno;	/* that was the last one */
			break;
		}
		key = next;
		last = &key;
		if (bpf_map_lookup_elem(store->values_fd, &key, &value))
			error = -errno;
		else if (key.flags & STACK_PENDING)
			error = array_reserve(&pending, &room, nr_pending + 1);
		if (!error && key.flags & STACK_PENDING)
			pending[nr_pending++] = key;
		if (!error)
			error = take_kept(store, &key, &value);
	}
	delete_pending(store, pending, nr_pending);
	free(pending);
	return error;
}

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

/* the key, completed by the stack that came later; without a user stack if none has come */
static void complete(const struct stack_store *store, struct stack_key *key)
{
	struct late_stack *late;

	HASH_FIND(hh, store->late, &key->user_stack, sizeof(key->user_stack), late);
	key->user_stack = late ? late->user_stack : 0;
	key->end = late ? late->end : END_UNREADABLE;
	key->flags &= ~STACK_PENDING;
}

const struct stack_entry *stack_store_key(const struct stack_store *store, uint64_t id)
{
	struct stored_key *stored = NULL;

	if (id)
		HASH_FIND(hh, store->keys, &id, sizeof(id), stored);
	if (!stored)
		return NULL;
	if (stored->entry.key.flags & STACK_PENDING)
		complete(store, &stored->entry.key);
	stored->entry.user = find_stack(store->user, stored->entry.key.user_stack);
	stored->entry.kernel = find_stack(store->kernel, stored->entry.key.kernel_stack);
	return &stored->entry;
}

int stack_store_finish(struct stack_store *store)
{
	int error = stack_store_drain(store);

	if (!error)
		error = read_values(store);
	return error ? error : give_up_pending(store);
}

int stack_store_hand_out(struct stack_store *store, uint32_t mask, uint32_t flags,
			 struct stack_entry **entries, size_t *nr)
{
	struct stored_value *value, *next;
	int error = stack_store_drain(store);

	if (!error)
		error = read_values(store);
	if (error)
		return error;
	free(store->entries);
	store->entries = calloc(HASH_COUNT(store->values) + 1, sizeof(*store->entries));
	if (!store->entries)
		return -ENOMEM;
	*nr = 0;
	HASH_ITER(hh, store->values, value, next) {
		struct stack_value rest = value->value;

		sum_up(&rest, &value->in_map);
		take_away(&rest, &value->handed_out);
		if (!rest.count || (value->key.flags & mask) != flags)
			continue;
		store->entries[(*nr)++] = (struct stack_entry){
			.key = value->key,
			.value = rest,
			.user = find_stack(store->user, value->key.user_stack),
			.kernel = find_stack(store->kernel, value->key.kernel_stack),
			.waker = stack_store_key(store, value->key.waker),
		};
		sum_up(&value->handed_out, &rest);
	}
	*entries = store->entries;
	return 0;
}

int stack_store_sum_stats(struct stack_store *store, struct stack_stats *sum)
{
	struct stack_stats *stats;
	uint64_t *counts = (uint64_t *)sum;
	size_t nr;
	int error = stack_store_stats(store, &stats, &nr);

	if (error)
		return error;
	*sum = (struct stack_stats){};
	for (size_t i = 0, nr_counts = sizeof(*sum) / sizeof(*counts); i < nr * nr_counts; i++)
		counts[i % nr_counts] += ((uint64_t *)stats)[i];
	free(stats);
	return 0;
}

int stack_store_stats(struct stack_store *store, struct stack_stats **stats, size_t *nr)
{
	int cpus = libbpf_num_possible_cpus();
	struct stack_stats *each;
	__u32 zero = 0;

	if (cpus < 0)
		return cpus;
	each = calloc(cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(store->stats_fd, &zero, each)) {
		free(each);
		return -errno;
	}
	*stats = each;
	*nr = cpus;
	return 0;
}
