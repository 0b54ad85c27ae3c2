// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline for a terminal: a line for each thread, then the stacks with the most time, then the
 * threads that were waited for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "stacks_abi.h"
#include "wallprof/key_groups.h"
#include "wallprof/wall_text.h"

static void put_user_frames(const struct wall *w, const struct stack_entry *key)
{
	struct stack_entry shown = *key;

	shown.waker = NULL;
	if (shown.user)
		shown.kernel = NULL;
	stack_print_frames(&w->writer, &shown, 4);
}

static int by_thread(const void *left, const void *right, void *wall)
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	uint32_t of_left = wall_key(wall, l)->key.tid, of_right = wall_key(wall, r)->key.tid;

	return order_of(of_left, of_right) ?: order_of(l, r);
}

/*
 * the numbers of all keys, those of a thread one after the other; the caller frees it. NULL: no
 * memory
 */
static uint32_t *keys_by_thread(const struct wall *w, size_t *nr)
{
	uint32_t *numbers = calloc(w->nr_keys + 1, sizeof(*numbers));

	*nr = 0;
	for (uint32_t number = 1; numbers && number <= w->nr_keys; number++)
		if (wall_key(w, number))
			numbers[(*nr)++] = number;
	if (numbers)
		qsort_r(numbers, *nr, sizeof(*numbers), by_thread, (void *)w);
	return numbers;
}

static void add_key(const struct wall *w, const struct wall_sums *sums, struct key_group *group,
		    uint32_t number)
{
	const struct stack_key *key = &wall_key(w, number)->key;

	if (!group->nr_threads || group->thread != key->tid)
		group->nr_threads++;
	if (group->key && strcmp(wall_key(w, group->key)->key.comm, key->comm))
		group->many_names = true;
	group->thread = key->tid;
	group->key = number;
	for (int state = 0; state < NR_WALL_STATES; state++) {
		group->ns[state] += sums->keys[number].ns[state];
		group->all_ns += sums->keys[number].ns[state];
	}
}

/* the same user stack, or the same kernel stack of a kernel thread, of one process */
static int sum_up_stacks(const struct wall *w, const struct wall_sums *sums,
			 struct key_group **groups)
{
	size_t nr;
	uint32_t *numbers = keys_by_thread(w, &nr);
	int error = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++) {
		const struct stack_entry *key = wall_key(w, numbers[i]);
		uint64_t id = key->user ? key->key.user_stack : key->key.kernel_stack;
		struct key_group *group =
			id ? key_group_of(groups, id ^ (uint64_t)key->key.pid << 32) : NULL;

		if (group)
			add_key(w, sums, group, numbers[i]);
		else if (id)
			error = -ENOMEM;
	}
	free(numbers);
	key_groups_sort(groups);
	return error;
}

/* "NAME (PID)", and of several threads how many there are */
static void put_threads(const struct wall *w, const struct key_group *group)
{
	const struct stack_key *key = &wall_key(w, group->key)->key;

	print_escaped(w->writer.out, key->comm);
	if (group->nr_threads == 1)
		fprintf(w->writer.out, " (%" PRIu32 ")\n", key->pid);
	else
		fprintf(w->writer.out, "%s (%" PRIu32 "), %" PRIu32 " threads\n",
			group->many_names ? " and others" : "", key->pid, group->nr_threads);
}

static int put_top_stacks(const struct wall *w, const struct wall_sums *sums)
{
	struct key_group *groups = NULL, *group, *next;
	int error = sum_up_stacks(w, sums, &groups);
	size_t shown = 0;

	if (!error)
		fprintf(w->writer.out,
			"\nmost wall-clock time, in seconds\n      WALL   RUNNING   WAITING   BLOCKED\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key);

		if (error || shown++ == wall_text_top(w) || !group->all_ns)
			break;
		fprintf(w->writer.out, "%10.3f%10.3f%10.3f%10.3f  ", group->all_ns / 1e9,
			group->ns[WALL_RUNNING] / 1e9, group->ns[WALL_WAITING] / 1e9,
			group->ns[WALL_BLOCKED] / 1e9);
		put_threads(w, group);
		put_user_frames(w, key);
	}
	hash_free_all(groups);
	return error;
}

int wall_text(const struct wall *w)
{
	struct wall_sums sums;
	int error = wall_sums_make(&sums, w);

	if (error)
		return error;
	error = wall_text_lives(w, &sums);
	if (!error)
		error = put_top_stacks(w, &sums);
	if (!error)
		error = wall_text_wakers(w, &sums);
	wall_sums_free(&sums);
	return error;
}
