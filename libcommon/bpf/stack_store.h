/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathers what bpf/stacks.bpf.h sends: frames from the ring buffer, values from the map `values`. */
#ifndef EHPERF_BPF_STACK_STORE_H
#define EHPERF_BPF_STACK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "report/stack_entry.h"
#include "stacks_abi.h"

struct bpf_object;

struct stack_store;

/* 0 or -errno */
int stack_store_new(struct stack_store **store, struct bpf_object *object);
void stack_store_free(struct stack_store *store);

/*
 * How many bytes stacks, keys and values may take, about: there is no limit otherwise. Each user has a share of it. The
 * values of stacks that it has no room for are summed up by thread; their stack is a FRAME_NO_ROOM(). If there are too
 * many threads even for that, values are lost, which counts as .no_room of the counters below.
 */
void stack_store_limit(struct stack_store *store, size_t bytes);
/* For how many users was there no room, and who was one of them? */
uint32_t stack_store_crowded(const struct stack_store *store, uint32_t *uid);

/*
 * Sets the handler of other records than stacks and values. If it returns an error, stack_store_drain() does
 * so too.
 */
void stack_store_pass_on(struct stack_store *store, int (*take)(void *arg, const void *record, size_t bytes),
			 void *arg);

/*
 * Sets who is told of each new user stack, and of a process that has it, while that may still be there. It
 * may change the frames, and make them fewer. An error ends stack_store_drain(), too.
 */
void stack_store_on_stack(struct stack_store *store,
			  int (*on_stack)(void *arg, pid_t pid, uint64_t *frames, uint32_t *nr), void *arg);

/* ring_drain() of all buffers. To be called several times a second while programs are attached */
int stack_store_drain(struct stack_store *store, unsigned ms);
/* for poll(): readable when a record is urgent */
int stack_store_fd(const struct stack_store *store);

/*
 * Drains another ring buffer of the object, too, of this name: its records go to take(). 0 or -errno; an
 * error of take() is one of stack_store_drain()
 */
int stack_store_add_ring(struct stack_store *store, struct bpf_object *object, const char *map,
			 int (*take)(void *arg, const void *record, size_t bytes), void *arg);

/* Handles a record that did not come through the ring buffer. 0 or -errno */
int stack_store_take(struct stack_store *store, const void *record, size_t bytes);

/*
 * Adds a user stack that was unwound in user space, for a raw_record with this key, value and token. With
 * STACK_PENDING in the key, the value comes separately, under the token. 0 or -ENOMEM
 */
int stack_store_add(struct stack_store *store, const struct stack_key *key, const struct stack_value *value,
		    uint64_t token, const uint64_t *frames, uint32_t nr_frames);

/* the stack with this ID, or NULL if its frames were not received; valid until stack_store_free() */
const struct stack_frames *stack_store_find(const struct stack_store *store, uint64_t id, bool user);

/*
 * The key_record with this ID, without a value, or NULL if it was not received; valid until
 * stack_store_free(). Its user stack may not be there yet: then it is still STACK_PENDING, and is to be
 * asked for again.
 */
const struct stack_entry *stack_store_key(const struct stack_store *store, uint64_t id);
/* the same of the key_record with this number */
const struct stack_entry *stack_store_numbered(const struct stack_store *store, uint32_t number);

/*
 * Drains, and returns what was added to the values since they were last handed out, for keys whose (flags &
 * mask) are `flags`: *entries is an array of *nr, in no order, valid until the next call. 0 or -errno
 */
int stack_store_hand_out(struct stack_store *store, uint32_t mask, uint32_t flags,
			 struct stack_entry **entries, size_t *nr);
/*
 * For reports at intervals, when the entries that were handed out are done with: forgets the values of
 * threads that have ended and, if the program adds a stack's value as soon as it has sent the stack, the
 * stacks that no value or key names: they are sent again when they come again.
 */
void stack_store_forget(struct stack_store *store, bool stacks);

/* Notes the modules of all user stacks: used[ID], of IDs below nr. */
void stack_store_note_modules(const struct stack_store *store, bool *used, size_t nr);

/*
 * Drains, once no program is attached any more: values whose stacks have not come are handed out without
 * them. 0 or -errno
 */
int stack_store_finish(struct stack_store *store);

/* the counters at this moment, summed over all CPUs. 0 or -errno */
int stack_store_sum_stats(struct stack_store *store, struct stack_stats *sum);
/* the counters of each possible CPU: a malloc()ed array of *nr. 0 or -errno */
int stack_store_stats(struct stack_store *store, struct stack_stats **stats, size_t *nr);

#endif
