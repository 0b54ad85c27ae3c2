/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers what bpf/stacks.bpf.h sends: stacks and keys from the ring buffer, values from there and
 * from the map `values`.
 */
#ifndef EHPERF_KERNEL_STACK_STORE_H
#define EHPERF_KERNEL_STACK_STORE_H

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
 * Limits the bytes that stacks, keys and values may take, approximately. Without this call there is
 * no limit. Each user has a share. If there is no room for a stack, its values are summed up by
 * thread, with a FRAME_NO_ROOM() as the stack. If there is no room for the sums either, values are
 * lost. stack_store_sum_stats() counts them as .no_room, and the keys without room, too.
 */
void stack_store_limit(struct stack_store *store, size_t bytes);
size_t stack_store_bytes(const struct stack_store *store);
/* Returns the number of users for which there was no room. *uid: one of them */
uint32_t stack_store_crowded(const struct stack_store *store, uint32_t *uid);

/*
 * Sets the handler of records that are not stacks, values or keys. stack_store_drain() returns its
 * errors.
 */
void stack_store_pass_on(struct stack_store *store,
			 int (*take)(void *arg, const void *record, size_t bytes), void *arg);

/*
 * Sets a function to be called for each new user stack. pid: a process that has the stack; it may
 * have ended. The function may change the frames, and reduce their number. Its errors are returned
 * by what was called: stack_store_drain(), _take() or _add().
 */
void stack_store_on_stack(struct stack_store *store,
			  int (*on_stack)(void *arg, pid_t pid, uint32_t uid, uint64_t *frames,
					  uint32_t *nr),
			  void *arg);

/*
 * Drains the ring buffers, one after the other. Each may take ms; 0: as long as it needs. Call it
 * several times a second while programs are attached. 0 or -errno
 */
int stack_store_drain(struct stack_store *store, unsigned ms);
/* CLOCK_MONOTONIC: all that was in the ring buffers at this time has been taken. */
uint64_t stack_store_drained_ns(const struct stack_store *store);
/*
 * for poll(): readable when a record is urgent: a raw sample, or a stack with a runtime's functions
 */
int stack_store_fd(const struct stack_store *store);

/*
 * Also drains the object's ring buffer of this name: its records go to take(), whose errors
 * stack_store_drain() returns. 0 or -errno
 */
int stack_store_add_ring(struct stack_store *store, struct bpf_object *object, const char *map,
			 int (*take)(void *arg, const void *record, size_t bytes), void *arg);

/* Handles a record that did not come through the ring buffer. 0 or -errno */
int stack_store_take(struct stack_store *store, const void *record, size_t bytes);

/*
 * Adds a user stack that was unwound in user space, for a raw_record with this key, value and
 * token. With STACK_PENDING in the key, the value comes in another record, which has the token. 0
 * or -ENOMEM
 */
int stack_store_add(struct stack_store *store, const struct stack_key *key,
		    const struct stack_value *value, uint64_t token, const uint64_t *frames,
		    uint32_t nr_frames);

/*
 * the stack with this ID, or NULL if its frames were not received; valid until stack_store_forget()
 * or stack_store_free()
 */
const struct stack_frames *stack_store_find(const struct stack_store *store, uint64_t id,
					    bool user);

/*
 * The key_record with this ID, without a value, or NULL if it was not received; valid until
 * stack_store_forget() or stack_store_free(). If it is STACK_PENDING, its user stack has not
 * arrived yet: ask for the entry again later.
 */
const struct stack_entry *stack_store_key(const struct stack_store *store, uint64_t id);
/* stack_store_key() for the key_record with this number */
const struct stack_entry *stack_store_numbered(const struct stack_store *store, uint32_t number);

/*
 * Drains, and returns what was added to each value since it was handed out last, for keys with
 * (key.flags & mask) == flags. *entries is an array of *nr, in no order, valid until the next call.
 * 0 or -errno
 */
int stack_store_hand_out(struct stack_store *store, uint32_t mask, uint32_t flags,
			 struct stack_entry **entries, size_t *nr);
/*
 * For reports at intervals. Entries that were handed out must not be used any more. Forgets values
 * that have not grown since the last call: they begin again from 0. With `stacks`, also forgets
 * stacks and wakers that no value or kept key has named since the call before the last one. The
 * kernel sends them again when they occur again.
 */
void stack_store_forget(struct stack_store *store, bool stacks);

/* Calls see() with the frames of each user stack: the modules that they name must be kept. */
void stack_store_each_stack(const struct stack_store *store, see_frames_fn *see, void *see_arg);
/*
 * Others may keep copies of stacks that the store forgets. Sets a function that calls see() for
 * these copies; stack_store_each_stack() calls it, too.
 */
void stack_store_add_copies(struct stack_store *store,
			    void (*each)(void *arg, see_frames_fn *see, void *see_arg), void *arg);

/*
 * Drains when no program is attached any more: values whose stacks have not arrived are handed out
 * without them. 0 or -errno
 */
int stack_store_finish(struct stack_store *store);

/* the counters at this moment, summed over all CPUs. 0 or -errno */
int stack_store_sum_stats(struct stack_store *store, struct stack_stats *sum);
/* the counters of each possible CPU: a malloc()ed array of *nr. 0 or -errno */
int stack_store_stats(struct stack_store *store, struct stack_stats **stats, size_t *nr);

#endif
