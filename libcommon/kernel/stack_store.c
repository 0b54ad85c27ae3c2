// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/stack_store.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/ring.h"
#include "kernel/stack_store_parts.h"
#include "records_abi.h"
#include "report/frame_name.h"
#include "unwind/cut_stack.h"

/* NULL: no memory */
static struct owner *owner_of(struct stack_store *store, uint32_t uid)
{
	struct owner *owner;

	HASH_FIND(hh, store->owners, &uid, sizeof(uid), owner);
	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner) + sizeof(owner->mark.frames[0]));
	if (!owner)
		return NULL;
	owner->uid = uid;
	owner->mark.nr = 1;
	owner->mark.frames[0] = FRAME_NO_ROOM(uid);
	HASH_ADD(hh, store->owners, uid, sizeof(owner->uid), owner);
	return owner;
}

static size_t left(const struct stack_store *store)
{
	return store->bytes < store->max_bytes ? store->max_bytes - store->bytes : 0;
}

/*
 * Is there room for something of this size? If not, the owner is full: it gets no room until
 * stack_store_forget(). If its stack was refused, a value must not be stored either: it is added to
 * a sum.
 */
static bool room_or_full(const struct stack_store *store, struct owner *owner, size_t bytes)
{
	owner->is_full |= owner->bytes + bytes > left(store);
	owner->was_full |= owner->is_full;
	return !owner->is_full;
}

static bool has_room_for_sum(const struct stack_store *store, const struct owner *owner,
			     size_t bytes)
{
	return (owner->bytes + bytes) / 3 <= left(store);
}

static void charge(struct stack_store *store, struct owner *owner, size_t bytes)
{
	owner->bytes += bytes;
	store->bytes += bytes;
}

/*
 * *added: the new stack; NULL: the store had it, or there is no room. A refused stack must be sent
 * again when it occurs again, because other users may have the same stack.
 */
static int add_stack(struct stack_store *store, struct stored_stack **stacks, uint64_t id,
		     uint32_t uid, const __u64 *frames, uint32_t nr, struct stored_stack **added)
{
	struct owner *owner;
	struct stored_stack *stack;
	size_t bytes = sizeof(*stack) + nr * sizeof(*frames);

	*added = NULL;
	HASH_FIND(hh, *stacks, &id, sizeof(id), stack);
	if (stack) {
		stack->used = true;
		return 0;
	}
	owner = owner_of(store, uid);
	if (!owner)
		return -ENOMEM;
	if (!room_or_full(store, owner, bytes)) {
		bpf_map_delete_elem(store->sent_fd, &id);
		return 0;
	}
	stack = malloc(bytes);
	if (!stack)
		return -ENOMEM;
	*stack = (struct stored_stack){ .id = id, .bytes = bytes, .owner = owner, .used = true };
	stack->frames.nr = nr;
	charge(store, owner, bytes);
	memcpy(stack->frames.frames, frames, nr * sizeof(*frames));
	HASH_ADD(hh, *stacks, id, sizeof(stack->id), stack);
	*added = stack;
	return 0;
}

static int add_user_stack(struct stack_store *store, uint64_t id, pid_t pid, uint32_t uid,
			  const __u64 *frames, uint32_t nr)
{
	struct stored_stack *added;
	int error = add_stack(store, &store->user, id, uid, frames, nr, &added);

	if (error || !added)
		return error;
	if (store->on_stack)
		error = store->on_stack(store->on_stack_arg, pid, uid, added->frames.frames,
					&added->frames.nr);
	added->frames.own = any_frame_in_no_file(added->frames.frames, added->frames.nr);
	return error;
}

/*
 * The frames of a user stack are in their places (frame_place.h). If the walk had too many frames,
 * the record has fewer.
 */
static int take_user_stack(struct stack_store *store, const struct frames_record *record,
			   size_t size)
{
	const struct frames_header *stack = &record->stack;
	uint32_t nr_walked = stack->nr_frames,
		 nr = (size - sizeof(*record)) / sizeof(record->frames[0]);
	uint64_t frames[MAX_DEPTH + 1];

	if (size < sizeof(*record) || nr > MAX_DEPTH || (!nr && nr_walked))
		return -EBADMSG;
	if (nr_walked <= nr)
		return add_user_stack(store, stack->id, stack->pid, stack->uid, record->frames,
				      nr_walked);
	nr = cut_stack_order(frames, (const uint64_t *)record->frames, nr_walked, nr);
	return add_user_stack(store, stack->id, stack->pid, stack->uid, (const __u64 *)frames, nr);
}

static int take_kernel_stack(struct stack_store *store, const struct frames_record *record,
			     size_t size)
{
	struct stored_stack *added;

	if (size < sizeof(*record) + record->stack.nr_frames * sizeof(record->frames[0]))
		return -EBADMSG;
	return add_stack(store, &store->kernel, record->stack.id, record->stack.uid, record->frames,
			 record->stack.nr_frames, &added);
}

static struct stored_value *find_value(const struct stack_store *store, const struct stack_key *key)
{
	struct stored_value *stored;

	HASH_FIND(hh, store->values, key, sizeof(*key), stored);
	return stored;
}

/* NULL: no memory */
static struct stored_value *value_of(struct stack_store *store, const struct stack_key *key)
{
	struct stored_value *stored = find_value(store, key);

	if (stored)
		return stored;
	stored = calloc(1, sizeof(*stored));
	if (!stored)
		return NULL;
	stored->key = *key;
	stored->owner = owner_of(store, key->uid);
	if (!stored->owner) {
		free(stored);
		return NULL;
	}
	HASH_ADD(hh, store->values, key, sizeof(stored->key), stored);
	charge(store, stored->owner, sizeof(*stored));
	return stored;
}

static int add_value(struct stack_store *store, const struct stack_key *key,
		     const struct stack_value *value)
{
	struct owner *owner = owner_of(store, key->uid);
	struct stored_value *stored;
	struct stack_key sum;

	if (is_nothing(value)) /* the period does not count */
		return 0;
	if (!owner)
		return -ENOMEM;
	if (!room_or_full(store, owner, sizeof(*stored)) && !find_value(store, key)) {
		sum = key_of_sum(key);
		key = &sum;
		if (!find_value(store, key) && !has_room_for_sum(store, owner, sizeof(*stored))) {
			store->no_room += value->count;
			return 0;
		}
	}
	stored = value_of(store, key);
	if (!stored)
		return -ENOMEM;
	stack_value_add(&stored->value, value);
	stored->grew = true;
	return 0;
}

/* the value's key, with the stack and the end reason that unwinding has found */
static struct stack_key joined(const struct stack_key *stack, const struct stack_key *value)
{
	struct stack_key key = *value;

	key.user_stack = stack->user_stack;
	key.end = stack->end;
	key.flags &= ~STACK_PENDING;
	return key;
}

/*
 * Takes a half that the pending sample already has. Ignores a second stack. Values are parts of one
 * period: keeps their sum, under the last one's key.
 */
static void take_again(struct pending *pending, const struct stack_key *key,
		       const struct stack_value *value)
{
	if (!value)
		return;
	pending->key = *key;
	stack_value_add(&pending->value, value);
}

/*
 * Takes one half of a pending sample: the stack if value is NULL, else the value. When both halves
 * are there, adds the value.
 */
static int join(struct stack_store *store, uint64_t token, const struct stack_key *key,
		const struct stack_value *value)
{
	struct pending *pending;
	struct stack_key stack, whole;
	int error;

	HASH_FIND(hh, store->pending, &token, sizeof(token), pending);
	if (pending && pending->has_stack == !value) {
		take_again(pending, key, value);
		return 0;
	}
	if (pending) {
		stack = value ? pending->key : *key;
		whole = joined(&stack, value ? key : &pending->key);
		error = add_value(store, &whole, value ? value : &pending->value);
		if (whole.flags & STACK_OPEN) {
			pending->key = stack;
			pending->has_stack = true;
			return error;
		}
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

static int take_value(struct stack_store *store, const struct stack_key *key,
		      const struct stack_value *value)
{
	return key->flags & STACK_PENDING ? join(store, key->user_stack, key, value)
					  : add_value(store, key, value);
}

/* Adds the pending values whose user stacks have not come, without these. */
static int give_up_pending(struct stack_store *store)
{
	struct pending *pending, *next;
	int error = 0;

	HASH_ITER(hh, store->pending, pending, next) {
		struct stack_key no_stack = { .end = END_UNREADABLE },
				 key = joined(&no_stack, &pending->key);

		if (!pending->has_stack && !error)
			error = add_value(store, &key, &pending->value);
		HASH_DEL(store->pending, pending);
		free(pending);
	}
	return error;
}

static int number_key(struct stack_store *store, uint32_t number, struct stored_key *stored)
{
	if (!number)
		return 0;
	if (array_reserve(&store->numbered, &store->numbered_room, number))
		return -ENOMEM;
	while (store->nr_numbered < number)
		store->numbered[store->nr_numbered++] = NULL;
	store->numbered[number - 1] = stored;
	stored->number = number;
	return 0;
}

/*
 * From now on, the kernel numbers no new keys of this owner: otherwise each event would get a new
 * number.
 */
static void refuse_key(struct stack_store *store, struct owner *owner,
		       const struct key_record *record)
{
	uint8_t yes = 1;

	bpf_map_delete_elem(store->sent_fd, &record->id);
	store->no_room++;
	owner->is_full = owner->was_full = true;
	if (record->number)
		bpf_map_update_elem(store->crowded_fd, &owner->uid, &yes, BPF_ANY);
}

static int take_key(struct stack_store *store, const struct key_record *record)
{
	struct owner *owner = owner_of(store, record->key.uid);
	struct stored_key *stored;

	if (!owner)
		return -ENOMEM;
	HASH_FIND(hh, store->keys, &record->id, sizeof(record->id), stored);
	if (!stored && (!room_or_full(store, owner, sizeof(*stored)) ||
			owner->nr_numbers >= store->max_numbers)) {
		refuse_key(store, owner, record);
		return 0;
	}
	if (!stored) {
		stored = calloc(1, sizeof(*stored));
		if (!stored)
			return -ENOMEM;
		*stored =
			(struct stored_key){ .id = record->id, .owner = owner, .key = record->key };
		HASH_ADD(hh, store->keys, id, sizeof(stored->id), stored);
		charge(store, owner, sizeof(*stored));
		owner->nr_numbers += !!record->number;
	}
	stored->used = true;
	return number_key(store, record->number, stored);
}

static int add_late(struct stack_store *store, uint64_t token, const struct stack_key *key)
{
	struct owner *owner = owner_of(store, key->uid);
	struct late_stack *late;

	if (owner && !room_or_full(store, owner, sizeof(*late)))
		return 0; /* its value has no stack */
	late = owner ? calloc(1, sizeof(*late)) : NULL;
	if (!late)
		return -ENOMEM;
	*late = (struct late_stack){
		.token = token, .user_stack = key->user_stack, .end = key->end, .owner = owner
	};
	charge(store, owner, sizeof(*late));
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
		error = take_key(store, key);
	else if (store->take)
		error = store->take(store->arg, bytes, size);
	if (error)
		store->error = error;
	return 0;
}

int stack_store_new(struct stack_store **store, struct bpf_object *object)
{
	struct stack_store *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->values_fd = bpf_object__find_map_fd_by_name(object, "values");
	s->stats_fd = bpf_object__find_map_fd_by_name(object, "stats");
	s->sent_fd = bpf_object__find_map_fd_by_name(object, "sent");
	s->crowded_fd = bpf_object__find_map_fd_by_name(object, "crowded");
	s->max_bytes = SIZE_MAX;
	error = s->values_fd < 0 || s->stats_fd < 0 || s->sent_fd < 0 || s->crowded_fd < 0
			? -ENOENT
			: ring_open(&s->ring, object, "records", take_record, s);
	if (error) {
		stack_store_free(s);
		return error;
	}
	s->max_numbers = bpf_map__max_entries(bpf_object__find_map_by_name(object, "sent")) / 4;
	*store = s;
	return 0;
}

size_t stack_store_bytes(const struct stack_store *store)
{
	return store->bytes;
}

void stack_store_limit(struct stack_store *store, size_t bytes)
{
	store->max_bytes = bytes;
}

uint32_t stack_store_crowded(const struct stack_store *store, uint32_t *uid)
{
	uint32_t nr = 0;

	for (const struct owner *owner = store->owners; owner; owner = owner->hh.next)
		if (owner->was_full) {
			*uid = owner->uid;
			nr++;
		}
	return nr;
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
	hash_free_all(store->owners);
	free(store->numbered);
	hash_free_all(store->late);
	free(store->entries);
	ring_close(store->ring);
	ring_close(store->other);
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
	return ring_open(&store->other, object, map, take_other, store);
}

int stack_store_drain(struct stack_store *store, unsigned ms)
{
	int error = ring_drain(store->ring, ms);

	if (!error && store->other)
		error = ring_drain(store->other, ms);
	return error ? error : store->error;
}

uint64_t stack_store_drained_ns(const struct stack_store *store)
{
	uint64_t drained_ns = ring_drained_ns(store->ring),
		 other_ns = store->other ? ring_drained_ns(store->other) : UINT64_MAX;

	return drained_ns < other_ns ? drained_ns : other_ns;
}

int stack_store_fd(const struct stack_store *store)
{
	return ring_fd(store->ring);
}

void stack_store_on_stack(struct stack_store *store,
			  int (*on_stack)(void *arg, pid_t pid, uint32_t uid, uint64_t *frames,
					  uint32_t *nr),
			  void *arg)
{
	store->on_stack = on_stack;
	store->on_stack_arg = arg;
}

void stack_store_pass_on(struct stack_store *store,
			 int (*take)(void *arg, const void *record, size_t bytes), void *arg)
{
	store->take = take;
	store->arg = arg;
}

int stack_store_add(struct stack_store *store, const struct stack_key *key,
		    const struct stack_value *value, uint64_t token, const uint64_t *frames,
		    uint32_t nr_frames)
{
	int error = 0;

	if (key->user_stack)
		error = add_user_stack(store, key->user_stack, key->pid, key->uid,
				       (const __u64 *)frames, nr_frames);
	if (error)
		return error;
	if (key->flags & STACK_SENT_APART)
		return add_late(store, token, key);
	return key->flags & STACK_PENDING ? join(store, token, key, NULL)
					  : add_value(store, key, value);
}

/*
 * Takes a value that was read from the kernel's map. The token of a pending key makes the key
 * unique, so its value does not grow.
 */
static int take_kept(struct stack_store *store, const struct stack_key *key,
		     const struct stack_value *value)
{
	struct stored_value *stored;

	if (key->flags & STACK_PENDING)
		return take_value(store, key, value);
	stored = value_of(store, key);
	if (!stored)
		return -ENOMEM;
	stored->grew |= memcmp(&stored->in_map, value, sizeof(*value)) != 0;
	stored->in_map = *value;
	return 0;
}

struct values_batch {
	struct stack_key keys[4096];
	struct stack_value values[4096];
};

/*
 * Takes a batch of values. Deletes pending values from the map, so that the next reading does not
 * take them again.
 */
static int take_batch(struct stack_store *store, const struct values_batch *batch, size_t nr)
{
	int error = 0;

	for (size_t i = 0; !error && i < nr; i++) {
		error = take_kept(store, &batch->keys[i], &batch->values[i]);
		if (!error && batch->keys[i].flags & STACK_PENDING)
			bpf_map_delete_elem(store->values_fd, &batch->keys[i]);
	}
	return error;
}

int stack_store_read_values(struct stack_store *store)
{
	struct values_batch *batch = malloc(sizeof(*batch));
	int error = batch ? 0 : -ENOMEM;
	__u32 bucket, *last = NULL;
	bool more = true;

	while (!error && more) {
		__u32 nr = sizeof(batch->keys) / sizeof(batch->keys[0]);

		more = !bpf_map_lookup_batch(store->values_fd, last, &bucket, batch->keys,
					     batch->values, &nr, NULL);
		error = more || errno == ENOENT ? take_batch(store, batch, nr) : -errno;
		last = &bucket;
	}
	free(batch);
	return error;
}

int stack_store_finish(struct stack_store *store)
{
	int error = stack_store_drain(store, 0);

	if (!error)
		error = stack_store_read_values(store);
	return error ? error : give_up_pending(store);
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
	sum->no_room += store->no_room;
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
