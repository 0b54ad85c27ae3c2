// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report that has no room for all: nothing is lost in sum, and a process loses nothing to others.
 */
#include "report/other_stacks.h"

#include <stdlib.h>

#include "check.h"

#define FRAMES 9 /* of each stack, so that an entry counts for 10 */
enum { FLOOD = 10, MODEST, SMALL, NR_PIDS };

static uint64_t count(const struct stack_value *value)
{
	return value->count;
}

static const struct measure measure = { .value = count };

static struct stack_entry entry(uint32_t pid, uint32_t end, uint64_t value)
{
	static struct stack_frames *frames;

	if (!frames) {
		frames = calloc(1, sizeof(*frames) + FRAMES * sizeof(frames->frames[0]));
		frames->nr = FRAMES;
	}
	return (struct stack_entry){
		.key = { .user_stack = value, .pid = pid, .end = end },
		.value = { .count = value, .blocked_ns = 2 * value, .waiting_ns = 3 * value },
		.user = frames,
	};
}

static bool is_sum(const struct stack_entry *entry)
{
	return entry->user->nr == 1 && FRAME_IS_SUMMED(entry->user->frames[0]);
}

/* 1,000 stacks of one process, 20 of another, one of a third */
static size_t make(struct stack_entry *entries)
{
	size_t nr = 0;

	for (uint64_t i = 1; i <= 1000; i++)
		entries[nr++] = entry(FLOOD, i % 2 ? END_COMPLETE : END_NO_ROW, i);
	for (uint64_t i = 1; i <= 20; i++)
		entries[nr++] = entry(MODEST, END_COMPLETE, i);
	entries[nr++] = entry(SMALL, END_COMPLETE, 1);
	return nr;
}

/* with room for so many entries: how many of each process's are left whole */
static void try(size_t room, size_t of_flood, size_t of_modest, size_t of_small, size_t sums)
{
	struct stack_entry *entries = calloc(2000, sizeof(*entries));
	size_t all = make(entries), nr = all, whole[NR_PIDS] = {}, nr_sums = 0, summed = 0;
	struct stack_value sum = {};
	struct other_stacks others;
	uint64_t coldest = UINT64_MAX;

	check(other_stacks_sum_up(&others, &measure, 10 * room, entries, &nr) == 0);
	for (size_t i = 0; i < nr; i++) {
		sum.count += entries[i].value.count;
		sum.blocked_ns += entries[i].value.blocked_ns;
		sum.waiting_ns += entries[i].value.waiting_ns;
		if (is_sum(&entries[i])) {
			nr_sums++;
			summed += entries[i].user->frames[0] ^ FRAME_SUMMED(0);
			continue;
		}
		whole[entries[i].key.pid]++;
		if (entries[i].key.pid == FLOOD && entries[i].value.count < coldest)
			coldest = entries[i].value.count;
	}
	check(whole[FLOOD] == of_flood && whole[MODEST] == of_modest && whole[SMALL] == of_small,
	      "%zu: %zu %zu %zu", room, whole[FLOOD], whole[MODEST], whole[SMALL]);
	check(nr_sums == sums && summed == others.nr &&
		      summed == all - of_flood - of_modest - of_small,
	      "%zu: %zu sums of %zu", room, nr_sums, summed);
	check(!of_flood || coldest == 1001 - of_flood, "the hottest are kept");
	check(sum.count == 500500 + 210 + 1 && sum.blocked_ns == 2 * sum.count &&
	      sum.waiting_ns == 3 * sum.count);
	other_stacks_free(&others);
	free(entries);
}

int main(void)
{
	try(5000, 1000, 20, 1, 0);
	try(1021, 1000, 20, 1, 0);
	/* a sum for each end reason of the flood's */
	try(1020, 999, 20, 1, 1);
	try(121, 100, 20, 1, 2);
	try(31, 15, 15, 1, 3);
	try(3, 1, 1, 1, 3);
	try(0, 0, 0, 0, 4);
	return check_done();
}
