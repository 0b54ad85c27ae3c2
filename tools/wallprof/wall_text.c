// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline for a terminal: a line for each thread, then the stacks with most time, then who was waited
 * for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

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

/* the same user stack, or the same kernel stack of a kernel thread, of one process */
static int put_top_stacks(const struct wall *w, const struct wall_sums *sums)
{
	struct key_group *groups = NULL, *group, *next;
	size_t shown = 0;

	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		uint64_t id = !key ? 0 : key->user ? key->key.user_stack : key->key.kernel_stack;

		if (!id)
			continue;
		group = key_group_of(&groups, id ^ (uint64_t)key->key.pid << 32);
		if (!group) {
			key_groups_free(groups);
			return -ENOMEM;
		}
		group->key = number;
		for (int state = 0; state < NR_WALL_STATES; state++) {
			group->ns[state] += sums->keys[number].ns[state];
			group->all_ns += sums->keys[number].ns[state];
		}
	}
	key_groups_sort(&groups);
	fprintf(w->writer.out, "\nmost wall-clock time, in seconds\n      WALL   RUNNING   WAITING   BLOCKED\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key);

		if (shown++ == wall_text_top(w) || !group->all_ns)
			break;
		fprintf(w->writer.out, "%10.3f%10.3f%10.3f%10.3f  ", group->all_ns / 1e9,
			group->ns[WALL_RUNNING] / 1e9, group->ns[WALL_WAITING] / 1e9,
			group->ns[WALL_BLOCKED] / 1e9);
		print_escaped(w->writer.out, key->key.comm);
		fprintf(w->writer.out, " (%" PRIu32 ")\n", key->key.pid);
		put_user_frames(w, key);
	}
	key_groups_free(groups);
	return 0;
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
