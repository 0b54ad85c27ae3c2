/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stack store consists of, for its own files: stack_store.c takes records, stack_entries.c
 * hands them out.
 */
#ifndef EHPERF_KERNEL_STACK_STORE_PARTS_H
#define EHPERF_KERNEL_STACK_STORE_PARTS_H

#include "base/hash.h"
#include "kernel/stack_store.h"

/*
 * The user that owns stacks, keys and values. A user may take half of the room that the others
 * leave, so that there is always room for another user. What has no room is summed up by thread,
 * for which there is a quarter more room.
 */
struct owner {
	uint32_t uid;
	size_t bytes;
	bool is_full; /* since stack_store_forget() */
	bool was_full;
	uint32_t nr_numbers; /* of its keys */
	UT_hash_handle hh;
	struct stack_frames mark; /* in place of the stacks; its one frame follows */
};

/* the user stack of a key that sums up those without room */
#define NO_ROOM UINT64_MAX

struct stored_stack {
	uint64_t id;
	size_t bytes;
	struct owner *owner;
	bool used, sent_again; /* of stack_store_forget() */
	UT_hash_handle hh;
	struct stack_frames frames; /* the last member: its frames follow */
};

struct stored_value {
	struct stack_key key;
	struct owner *owner;
	/* from value records; in the kernel's map when it was last read */
	struct stack_value value, in_map;
	struct stack_value handed_out; /* the part of value + in_map that was handed out already */
	bool grew;                     /* since the last stack_store_forget() */
	UT_hash_handle hh;
};

/* a key to which other keys refer by its ID, as in struct stack_entry */
struct stored_key {
	uint64_t id;
	uint32_t number; /* 0: none */
	struct owner *owner;
	bool used, sent_again; /* of stack_store_forget() */
	struct stack_key key;  /* as it came */
	struct stack_entry entry;
	UT_hash_handle hh;
};

/* The user stack that completes a key with STACK_SENT_APART and STACK_PENDING. */
struct late_stack {
	uint64_t token, user_stack;
	uint32_t end;
	struct owner *owner;
	UT_hash_handle hh;
};

/*
 * A sample with STACK_PENDING has two halves, its stack and its value: the half that arrives first
 * waits here. A period that is reported in parts has a value for each part: the stack stays until a
 * value without STACK_OPEN arrives.
 */
struct pending {
	uint64_t token;
	struct stack_key key;
	bool has_stack; /* false: it has the value: */
	struct stack_value value;
	UT_hash_handle hh;
};

struct stack_store {
	struct ring *ring, *other; /* other: NULL unless it was added */
	int values_fd, stats_fd, sent_fd, crowded_fd;
	uint32_t max_numbers;    /* keys with numbers that an owner may have */
	size_t bytes, max_bytes; /* of stacks, keys and values, about */
	struct owner *owners;
	uint64_t no_room; /* values refused */
	struct stored_stack *user, *kernel;
	struct stored_value *values;
	struct pending *pending;
	struct stored_key *keys;
	struct stored_key **numbered; /* by the records' numbers, less 1; NULL: not received */
	size_t nr_numbered, numbered_room;
	struct late_stack *late;
	struct stack_entry *entries;
	int (*take)(void *arg, const void *record, size_t bytes);
	void *arg;
	int (*on_stack)(void *arg, pid_t pid, uint32_t uid, uint64_t *frames, uint32_t *nr);
	void *on_stack_arg;
	void (*each_copy)(void *arg, see_frames_fn *see, void *see_arg);
	void *copies_arg;
	/* of the other ring */
	int (*take_other)(void *arg, const void *record, size_t bytes);
	void *other_arg;
	int error;
};

static inline void take_away(struct stack_value *sum, const struct stack_value *value)
{
	sum->count -= value->count;
	sum->blocked_ns -= value->blocked_ns;
	sum->waiting_ns -= value->waiting_ns;
}

static inline bool is_nothing(const struct stack_value *value)
{
	return !(value->count | value->blocked_ns | value->waiting_ns);
}

/* The key of a sum: only the thread and its state are distinguished. */
static inline struct stack_key key_of_sum(const struct stack_key *key)
{
	struct stack_key sum = *key;

	sum.user_stack = NO_ROOM;
	sum.kernel_stack = sum.waker = 0;
	sum.end = END_LOST;
	return sum;
}

/* Takes what the kernel has in its map of values. 0 or -errno */
int stack_store_read_values(struct stack_store *store);

#endif
