// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "report/counted.h"
#include "report/frame_names.h"
#include "report/json.h"
#include "stacks_abi.h"

#define MIN_SHARE 95 /* percent of the measurement */
/* in a shorter one, nobody is idle. An interval of a second is not always a whole one */
#define MIN_NS 950000000
/* from the thread's start to the wait: event loops have 5 to 12, waits in queries 17 and more */
#define MAX_FRAMES 12
#define MAX_LEAVES 4 /* frames of the C library around the system call */

/* ---- the place of a wait ---- */

/* calls that return with whatever comes next */
static const struct call {
	const char *name;
	bool condition;
} calls[] = {
	{ "epoll_wait", false },
	{ "epoll_pwait", false },
	{ "epoll_pwait2", false },
	{ "accept", false },
	{ "accept4", false },
	{ "pthread_cond_wait", true },
	{ "pthread_cond_timedwait", true },
	{ "pthread_cond_clockwait", true },
};

static const struct call *call_of(const char *symbol)
{
	symbol += strspn(symbol, "_");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(symbol, calls[i].name))
			return &calls[i];
	return NULL;
}

/*
 * "LockAcquire", "QReadWriteLock::lockForRead", but not "uv_block", "clock_wait", nor a parameter's
 * type
 */
static bool is_lock(const char *symbol)
{
	const char *end = symbol + strcspn(symbol, "(<");

	for (const char *at = symbol; (at = strcasestr(at, "lock")) && at < end; at++)
		if (at == symbol || !strchr("bcBC", at[-1]))
			return true;
	return false;
}

static bool waits_for_work(const struct stack_entry *entry, const struct frame_names *names)
{
	const struct stack_frames *user = entry->user;
	const struct call *call = NULL;

	if (entry->key.end != END_COMPLETE || !user || user->nr > MAX_FRAMES)
		return false;
	for (uint32_t i = 0; i < user->nr; i++) {
		struct frame_name name = frame_name_user(names, entry->key.pid, user->frames[i]);

		if (user->frames[i] & FRAME_ADDRESS || (name.symbol && is_lock(name.symbol)))
			return false;
		if (!call && i < MAX_LEAVES && name.symbol)
			call = call_of(name.symbol);
	}
	return call && !(call->condition && entry->key.pid == entry->key.tid);
}

/* ---- all of a measurement ---- */

/*
 * of one thread. A place is a user stack. Kernel stacks, wakers, and whether the wait is over yet,
 * may differ.
 */
static int by_place(const void *left, const void *right)
{
	const struct stack_entry *l = *(const struct stack_entry *const *)left;
	const struct stack_entry *r = *(const struct stack_entry *const *)right;
	uint32_t of_left = l->user ? l->user->nr : 0, of_right = r->user ? r->user->nr : 0;
	int order = order_of(STACK_STATE(l->key.flags), STACK_STATE(r->key.flags));

	order = order ?: order_of(of_left, of_right);
	if (order)
		return order;
	return of_left ? memcmp(l->user->frames, r->user->frames,
				of_left * sizeof(l->user->frames[0]))
		       : 0;
}

static uint64_t blocked_ns(struct stack_entry *const *entries, size_t nr)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < nr; i++)
		ns += entries[i]->value.blocked_ns;
	return ns;
}

static bool is_long(uint64_t ns, uint64_t measured_ns)
{
	return ns >= MIN_NS && ns >= measured_ns / 100 * MIN_SHARE;
}

static bool is_idle(struct stack_entry *const *place, size_t nr, uint64_t measured_ns,
		    const struct frame_names *names)
{
	uint64_t woken = 0;

	for (size_t i = 0; i < nr; i++)
		woken += place[i]->value.count;
	return STACK_STATE(place[0]->key.flags) == THREAD_SLEEPING &&
	       is_long(blocked_ns(place, nr), measured_ns) &&
	       woken <= 1 + measured_ns / 1000000000 && waits_for_work(place[0], names);
}

static bool is_asked_for(const struct stack_key *key, const struct idle_asked *asked)
{
	if (key->pid == (uint32_t)asked->main && key->tid == (uint32_t)asked->main)
		return true;
	for (size_t i = 0; i < asked->nr_tids; i++)
		if (key->tid == (uint32_t)asked->tids[i])
			return true;
	return false;
}

/* Marks the idle waits of a thread. True: there are some */
static bool mark_thread(struct stack_entry **entries, size_t nr, uint64_t measured_ns,
			const struct frame_names *names)
{
	bool idle = false;

	/* most threads are told without a look at their stacks; without a TID, they are many */
	if (!entries[0]->key.tid || !is_long(blocked_ns(entries, nr), measured_ns))
		return false;
	qsort(entries, nr, sizeof(*entries), by_place);
	for (size_t i = 0, same; i < nr; i += same) {
		for (same = 1; i + same < nr && !by_place(&entries[i], &entries[i + same]); same++)
			;
		if (!is_idle(&entries[i], same, measured_ns, names))
			continue;
		idle = true;
		for (size_t j = i; j < i + same; j++)
			entries[j]->idle = true;
	}
	return idle;
}

/* Marks the idle waits of the entries, sorted by thread. True: all threads are idle */
static bool mark(struct stack_entry **sorted, size_t nr, uint64_t measured_ns,
		 const struct frame_names *names)
{
	bool all_idle = true;

	for (size_t i = 0, same; i < nr; i += same) {
		for (same = 1; i + same < nr && !stack_entry_by_thread(sorted[i], sorted[i + same]);
		     same++)
			;
		if (!mark_thread(&sorted[i], same, measured_ns, names))
			all_idle = false;
	}
	return all_idle;
}

int idle_mark(struct stack_entry *entries, size_t nr, uint64_t measured_ns,
	      const struct idle_asked *asked, const struct frame_names *names, size_t *threads)
{
	struct stack_entry **sorted = calloc(nr + 1, sizeof(*sorted)), *last = NULL;
	size_t measured = 0;
	bool all_idle;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		entries[i].idle = false;
		if (entries[i].value.count || stack_entry_ns(&entries[i]))
			sorted[measured++] = &entries[i];
	}
	qsort(sorted, measured, sizeof(*sorted), stack_entries_by_thread);
	all_idle = mark(sorted, measured, measured_ns, names);
	*threads = 0;
	for (size_t i = 0; i < measured; i++) {
		if (all_idle || is_asked_for(&sorted[i]->key, asked))
			sorted[i]->idle = false;
		if (!sorted[i]->idle)
			continue;
		*threads += !last || stack_entry_by_thread(last, sorted[i]);
		last = sorted[i];
	}
	free(sorted);
	return 0;
}

size_t idle_to_end(struct stack_entry *entries, size_t nr)
{
	size_t others = 0;

	for (size_t i = 0; i < nr; i++) {
		struct stack_entry entry = entries[i];

		if (entry.idle)
			continue;
		entries[i] = entries[others];
		entries[others++] = entry;
	}
	return others;
}

void idle_print(FILE *out, const char *tool, uint64_t threads, uint64_t ns)
{
	if (threads)
		fprintf(out, "%s: idle: %s, %.3f s (--idle shows them)\n", tool,
			counted(threads, "threads").text, ns / 1e9);
}

void idle_json(struct json_object *summary, uint64_t threads, uint64_t ns)
{
	if (!threads)
		return;
	json_object_object_add(summary, "idle_threads", json_number(threads));
	json_object_object_add(summary, "idle_ns", json_number(ns));
}
