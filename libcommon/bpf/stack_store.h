/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathers what bpf/stacks.bpf.h sends: frames through the ring buffer, values from the map at the end. */
#ifndef EHPERF_BPF_STACK_STORE_H
#define EHPERF_BPF_STACK_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/stack_entry.h"
#include "stacks_abi.h"

struct bpf_object;

struct stack_store;

/* 0 or -errno */
int stack_store_new(struct stack_store **store, struct bpf_object *object);
void stack_store_free(struct stack_store *store);

/* who takes the records that are no stacks and no values: 0, or -errno, which stack_store_drain() then returns */
void stack_store_pass_on(struct stack_store *store, int (*take)(void *arg, const void *record, size_t bytes), void *arg);

/* Empties the ring buffer. To be called a few times a second while programs are attached. 0 or -errno */
int stack_store_drain(struct stack_store *store);
/* for poll(): readable when a record is urgent */
int stack_store_fd(const struct stack_store *store);

/* a record that came another way than through the ring buffer. 0 or -errno */
int stack_store_take(struct stack_store *store, const void *record, size_t bytes);

/* a user stack that was not unwound in the kernel, and the raw_record's value or token. 0 or -ENOMEM */
int stack_store_add(struct stack_store *store, const struct stack_key *key, const struct stack_value *value, uint64_t token,
		    const uint64_t *frames, uint32_t nr_frames);

/* a stack whose frames have come, or NULL; valid until stack_store_free() */
const struct stack_frames *stack_store_find(const struct stack_store *store, uint64_t id, bool user);

/*
 * A drain, and the values that have come since they were last handed out, of the keys whose flags are these
 * where the mask says: *entries is an array of *nr, in no order, valid until the next call. 0 or -errno
 */
int stack_store_hand_out(struct stack_store *store, uint32_t mask, uint32_t flags, struct stack_entry **entries, size_t *nr);
/* All of them. With no program attached any more, there are no others */
int stack_store_finish(struct stack_store *store, struct stack_entry **entries, size_t *nr);

/* at any time: summed over the CPUs. 0 or -errno */
int stack_store_sum_stats(struct stack_store *store, struct stack_stats *sum);
/* or of each possible CPU: a malloc()ed array of *nr. 0 or -errno */
int stack_store_stats(struct stack_store *store, struct stack_stats **stats, size_t *nr);

#endif
