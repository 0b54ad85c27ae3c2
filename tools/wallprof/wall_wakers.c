// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was waited for: the threads and interrupts that ended the most blocked time, and what these
 * waited for themselves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "stacks_abi.h"
#include "wallprof/key_groups.h"
#include "wallprof/wall_text.h"

#define MAX_CHAIN 8

#define INTERRUPT_ID (1ULL << 63)

static uint64_t waker_id(const struct stack_entry *key)
{
	return key->key.flags & STACK_INTERRUPT ? INTERRUPT_ID | key->key.kernel_stack
						: key->key.tid;
}

static void put_waker_name(const struct wall *w, const struct stack_entry *key)
{
	if (key->key.flags & STACK_INTERRUPT) {
		fputs("an interrupt", w->writer.out);
		return;
	}
	print_escaped(w->writer.out, key->key.comm);
	fprintf(w->writer.out, " (%" PRIu32 ")", key->key.tid);
}

/*
 * for whom each thread waited longest: 0, or the number of the waker's key, by the lives' indices
 */
struct longest {
	const struct wall *wall;
	uint32_t *waker;
	uint64_t *by_key, *stamp;
	uint64_t most;
	size_t life;
};

static int add_wait(void *arg, const struct life *life, const struct interval *i)
{
	struct longest *l = arg;

	(void)life;
	if (i->state != WALL_BLOCKED || !i->waker)
		return 0;
	if (l->stamp[i->waker] != l->life + 1) {
		l->stamp[i->waker] = l->life + 1;
		l->by_key[i->waker] = 0;
	}
	l->by_key[i->waker] += i->to_ns - i->from_ns;
	if (l->by_key[i->waker] > l->most) {
		l->most = l->by_key[i->waker];
		l->waker[l->life] = i->waker;
	}
	return 0;
}

static int find_longest(const struct wall *w, uint32_t *waker)
{
	struct longest l = { .wall = w, .waker = waker };
	const struct timeline_visitor visitor = { .interval = add_wait, .arg = &l };
	int error = 0;

	l.by_key = calloc(w->nr_keys + 1, sizeof(*l.by_key));
	l.stamp = calloc(w->nr_keys + 1, sizeof(*l.stamp));
	if (!l.by_key || !l.stamp)
		error = -ENOMEM;
	for (l.life = 0; l.life < w->nr_lives && !error; l.life++) {
		l.most = 0;
		error = timeline_visit(&w->lives[l.life], &visitor);
	}
	free(l.by_key);
	free(l.stamp);
	return error;
}

/*
 * Whom the waker itself waited for longest, and so on, until a thread comes again or nobody is
 * known.
 */
static void put_chain(const struct wall *w, const uint32_t *longest, const struct stack_entry *key)
{
	uint32_t seen[MAX_CHAIN] = {};

	for (int depth = 0; depth < MAX_CHAIN && !(key->key.flags & STACK_INTERRUPT); depth++) {
		size_t life = 0;

		seen[depth] = key->key.tid;
		while (life < w->nr_lives && w->lives[life].tid != key->key.tid)
			life++;
		key = life < w->nr_lives ? wall_key(w, longest[life]) : NULL;
		if (!key)
			return;
		fputs(", which waited longest for ", w->writer.out);
		put_waker_name(w, key);
		for (int i = 0; i <= depth; i++)
			if (seen[i] == key->key.tid)
				return;
	}
}

static int sum_up_wakers(const struct wall *w, const struct wall_sums *sums,
			 struct key_group **groups)
{
	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		uint64_t ns = sums->keys[number].waited_for_ns;
		struct key_group *group;

		if (!key || !sums->keys[number].nr_woken)
			continue;
		group = key_group_of(groups, waker_id(key));
		if (!group)
			return -ENOMEM;
		group->key = number;
		group->all_ns += ns;
		group->count += sums->keys[number].nr_woken;
		if (ns >= group->most_ns) {
			group->most_ns = ns;
			group->key_of_most = number;
		}
	}
	key_groups_sort(groups);
	return 0;
}

int wall_text_wakers(const struct wall *w, const struct wall_sums *sums)
{
	struct key_group *groups = NULL, *group, *next;
	uint32_t *longest = calloc(w->nr_lives + 1, sizeof(*longest));
	int error = longest ? find_longest(w, longest) : -ENOMEM;
	size_t shown = 0;

	if (!error)
		error = sum_up_wakers(w, sums, &groups);
	if (!error)
		fprintf(w->writer.out,
			"\nwhat was waited for, in seconds blocked\n   BLOCKED   WAKE-UPS\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key_of_most);

		if (error || shown++ == wall_text_top(w))
			break;
		fprintf(w->writer.out, "%10.3f %10" PRIu64 "  ", group->all_ns / 1e9, group->count);
		put_waker_name(w, key);
		put_chain(w, longest, key);
		putc('\n', w->writer.out);
		stack_print_frames(&w->writer, key, 4);
	}
	hash_free_all(groups);
	free(longest);
	return error;
}
