/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One result of a stack tool: a key (thread, state, stacks), its value, and the frames of its
 * stacks.
 */
#ifndef EHPERF_REPORT_STACK_ENTRY_H
#define EHPERF_REPORT_STACK_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"
#include "stacks_abi.h"

struct stack_frames {
	uint32_t nr;
	bool own; /* a frame lies in no file: in another process it may have another name */
	uint64_t frames[]; /* leaf first */
};

/* what looks at the frames of stacks that are kept */
typedef void see_frames_fn(void *arg, const uint64_t *frames, uint32_t nr);

struct stack_entry {
	struct stack_key key;
	struct stack_value value;
	const struct stack_frames *user, *kernel; /* NULL: no stack, or its frames were lost */
	/* the waker that ended the period, without a value; NULL: not known */
	const struct stack_entry *waker;
	bool idle;     /* a wait of an idle thread: report/idle.h */
	uint32_t path; /* the number of its path, where paths are used: report/stack_paths.h */
};

static inline uint64_t stack_entry_ns(const struct stack_entry *entry)
{
	return entry->value.blocked_ns + entry->value.waiting_ns;
}

static inline void stack_value_add(struct stack_value *sum, const struct stack_value *value)
{
	sum->count += value->count;
	sum->blocked_ns += value->blocked_ns;
	sum->waiting_ns += value->waiting_ns;
}

/*
 * The thread's name. A thread can make its name empty, and then gets another one here: a stack must
 * not begin with nothing.
 */
static inline const char *stack_entry_thread(const struct stack_entry *entry)
{
	return *entry->key.comm ? entry->key.comm : "[unknown]";
}

/* For sorting: by process, then by thread */
static inline int stack_entry_by_thread(const struct stack_entry *l, const struct stack_entry *r)
{
	return order_of(l->key.pid, r->key.pid) ?: order_of(l->key.tid, r->key.tid);
}

/* the same for qsort() of pointers to entries */
static inline int stack_entries_by_thread(const void *left, const void *right)
{
	return stack_entry_by_thread(*(const struct stack_entry *const *)left,
				     *(const struct stack_entry *const *)right);
}

#endif
