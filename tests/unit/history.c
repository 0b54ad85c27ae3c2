// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A history of intervals: the sums of any last time are those of a plain list; with a limit,
 * nothing is lost in sum.
 */
#include "live/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define NR_STACKS    40
#define NR_INTERVALS 50
#define SECOND       1000000000ULL

static uint64_t count(const struct stack_value *value)
{
	return value->count;
}

static const struct measure measure = { .value = count };

static struct stack_frames *frames_of(uint64_t id, uint32_t nr)
{
	struct stack_frames *frames = calloc(1, sizeof(*frames) + nr * sizeof(frames->frames[0]));

	frames->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		frames->frames[i] = id << FRAME_OFFSET_BITS | i;
	return frames;
}

static struct stack_entry entry_of(uint64_t id, uint64_t value, const struct stack_entry *waker)
{
	return (struct stack_entry){
		.key = { .user_stack = id,
			 .pid = id % 7,
			 .tid = id,
			 .end = id % 3,
			 .waker = waker ? waker->key.user_stack : 0 },
		.value = { .count = value, .blocked_ns = 2 * value, .waiting_ns = 3 * value },
		.user = frames_of(id, 1 + id % 5),
		.waker = waker,
	};
}

/* what the caller gave is gone after the call, as a store's is */
static void free_entry(struct stack_entry *entry)
{
	memset((void *)entry->user, 0xff, sizeof(*entry->user));
	free((void *)entry->user);
}

static uint64_t sum_of(const struct history_part *part)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < part->nr; i++)
		sum += part->entries[i].value.count;
	return sum;
}

/* of two rows of losses: so many in each interval */
static void lost_in(int64_t lost[MAX_LOSSES], size_t interval)
{
	memset(lost, 0, MAX_LOSSES * sizeof(*lost));
	lost[0] = interval;
	lost[MAX_LOSSES - 1] = interval % 5 ? 3 : -2;
}

static bool same_losses(const int64_t lost[MAX_LOSSES], size_t from, size_t nr)
{
	int64_t sum[MAX_LOSSES] = {}, one[MAX_LOSSES];

	for (size_t interval = from; interval < nr; interval++) {
		lost_in(one, interval);
		for (size_t i = 0; i < MAX_LOSSES; i++)
			sum[i] += one[i];
	}
	return !memcmp(lost, sum, sizeof(sum));
}

/* plain[interval][stack] */
static void compare(struct history *h, uint64_t last_ns, uint64_t plain[][NR_STACKS + 1],
		    size_t from, size_t nr)
{
	struct history_part part;
	bool same = true, whole = true;
	size_t seen = 0, expected = 0;

	check(!history_take(h, last_ns, nr < NR_INTERVALS ? (1 + nr) * SECOND : 0, &part));
	for (size_t i = 0; i < part.nr; i++) {
		const struct stack_entry *entry = &part.entries[i];
		uint64_t sum = 0, id = entry->key.user_stack;

		for (size_t interval = from; interval < nr; interval++)
			sum += plain[interval][id];
		same &= sum == entry->value.count && entry->value.blocked_ns == 2 * sum &&
			entry->value.waiting_ns == 3 * sum;
		whole &= entry->user->nr == 1 + id % 5 &&
			 entry->user->frames[0] == id << FRAME_OFFSET_BITS &&
			 (id % 4 ? !entry->waker
				 : entry->waker &&
					   entry->waker->user->frames[0] >> FRAME_OFFSET_BITS == 1);
		seen += sum;
	}
	for (size_t interval = from; interval < nr; interval++)
		for (size_t id = 1; id <= NR_STACKS; id++)
			expected += plain[interval][id];
	check(same && whole && seen == expected, "from interval %zu: %zu of %zu", from, seen,
	      expected);
	check(part.from_ns == (1 + from) * SECOND && part.until_ns == (1 + nr) * SECOND);
	check(part.first_ns == part.from_ns);
	check(same_losses(part.lost, from, nr) && same_losses(part.lost_since_first, from, nr),
	      "from interval %zu: what was lost", from);
	history_part_free(&part);
}

/* with a half-life of 2 s */
static void decays(struct history *h, uint64_t plain[][NR_STACKS + 1], size_t nr)
{
	struct history_part part;
	double time = 0, all = 0, lost = 0;
	bool same = true;

	check(!history_take_decaying(h, 2 * SECOND, nr < NR_INTERVALS ? (1 + nr) * SECOND : 0,
				     &part));
	for (size_t interval = 0; interval < nr; interval++)
		time += pow(0.5, (nr - 1 - interval) / 2.0);
	for (size_t i = 0; i < part.nr; i++) {
		const struct stack_entry *entry = &part.entries[i];
		double sum = 0;

		for (size_t interval = 0; interval < nr; interval++)
			sum += plain[interval][entry->key.user_stack] *
			       pow(0.5, (nr - 1 - interval) / 2.0);
		same &= fabs(entry->value.count - sum) <= 1.01 &&
			fabs(entry->value.waiting_ns - 3 * sum) <= 1.01;
	}
	for (size_t interval = 0; interval < nr; interval++)
		for (uint64_t id = 1; id <= NR_STACKS; id++)
			all += plain[interval][id] * pow(0.5, (nr - 1 - interval) / 2.0);
	check(fabs(sum_of(&part) - all) <= 1.01, "the sum is %f", all);
	for (size_t interval = 0; interval < nr; interval++)
		lost += interval * pow(0.5, (nr - 1 - interval) / 2.0);
	check(fabs(part.lost[0] - lost) <= 0.51, "%lld lost, not %f", (long long)part.lost[0],
	      lost);
	check(same_losses(part.lost_since_first, 0, nr), "all that was lost");
	check(same && part.nr, "values of %zu intervals decay", nr);
	check(fabs((part.until_ns - part.from_ns) / 1e9 - time) < 1e-6, "the time is %f s", time);
	history_part_free(&part);
}

static void sums(void)
{
	static uint64_t plain[NR_INTERVALS][NR_STACKS + 1];
	struct history *h = history_new(&measure, SECOND, 64 << 20);
	struct history_part kept;
	uint64_t before;

	for (size_t interval = 0; interval < NR_INTERVALS; interval++) {
		struct stack_entry entries[NR_STACKS], waker = entry_of(1, 0, NULL);
		int64_t lost[MAX_LOSSES];
		size_t nr = 0;

		for (uint64_t id = 1; id <= NR_STACKS; id++) {
			if ((id * 31 + interval * 17) % 3)
				continue;
			plain[interval][id] = 1 + (id * interval) % 11;
			entries[nr++] = entry_of(id, plain[interval][id], id % 4 ? NULL : &waker);
		}
		lost_in(lost, interval);
		check(!history_add(h, entries, nr, lost, (2 + interval) * SECOND));
		for (size_t i = 0; i < nr; i++)
			free_entry(&entries[i]);
		free_entry(&waker);
	}
	compare(h, 0, plain, 0, NR_INTERVALS);
	compare(h, SECOND, plain, NR_INTERVALS - 1, NR_INTERVALS);
	compare(h, 10 * SECOND, plain, NR_INTERVALS - 10, NR_INTERVALS);
	compare(h, 1000 * SECOND, plain, 0, NR_INTERVALS);
	compare(h, 3 * SECOND, plain, 4, 7);
	compare(h, 1000 * SECOND, plain, 0, 5);
	check(!history_take(h, SECOND, SECOND, &kept) && !kept.nr && kept.from_ns == kept.until_ns);
	history_part_free(&kept);
	decays(h, plain, NR_INTERVALS);
	decays(h, plain, 7);

	/* a part outlives what it was taken of */
	check(!history_take(h, 0, 0, &kept));
	before = sum_of(&kept);
	history_reset(h);
	check(history_bytes(h) == 0, "%zu bytes are left", history_bytes(h));
	check(before && sum_of(&kept) == before && kept.entries[0].user->nr);
	history_part_free(&kept);
	check(!history_take(h, 0, 0, &kept) && !kept.nr && kept.from_ns == kept.until_ns);
	check(same_losses(kept.lost, 0, 0), "and nothing is lost");
	history_part_free(&kept);
	history_free(h);
}

/*
 * Each interval has other stacks, as of a machine that always starts other programs; one is always
 * there, and the hottest. A view has a part of all stacks at any time.
 */
static void limit(void)
{
	const size_t max = 256 << 10, each = 200;
	struct history *h = history_new(&measure, SECOND, max);
	struct history_part part = {};
	uint64_t all = 0, of_hot = 0, next = 100, sums = 0;
	size_t most = 0;

	for (size_t interval = 0; interval < 300; interval++) {
		struct stack_entry entries[201];

		entries[0] = entry_of(1, 50, NULL);
		for (size_t i = 1; i <= each; i++)
			entries[i] = entry_of(next++, 1, NULL);
		check(!history_add(h, entries, each + 1, (int64_t[MAX_LOSSES]){},
				   (2 + interval) * SECOND));
		all += 50 + each;
		of_hot += 50;
		for (size_t i = 0; i <= each; i++)
			free_entry(&entries[i]);
		most = history_bytes(h) > most ? history_bytes(h) : most;
		history_part_free(&part);
		check(!history_take(h, 0, 0, &part));
	}
	check(most <= max, "%zu bytes of %zu", most, max);
	check(sum_of(&part) == all, "%llu of %llu", (unsigned long long)sum_of(&part),
	      (unsigned long long)all);
	for (size_t i = 0; i < part.nr; i++) {
		const struct stack_entry *entry = &part.entries[i];

		if (entry->user->nr == 1 && FRAME_IS_SUMMED(entry->user->frames[0]))
			sums++;
		else if (!entry->key.tid)
			check(false, "a stack that no other thread has has lost its thread");
		else if (entry->key.user_stack == 1)
			check(entry->value.count == of_hot,
			      "the hottest stack is not among those summed up");
	}
	check(sums == 3, "a sum for each end reason: %llu", (unsigned long long)sums);
	history_part_free(&part);
	/* the last interval is there as it was */
	check(!history_take(h, SECOND, 0, &part) && sum_of(&part) == 50 + each &&
	      part.nr == each + 1);
	history_part_free(&part);
	history_free(h);
}

/* A thread may have the name and the key of what is left out. */
static void others(void)
{
	struct history *h = history_new(&measure, SECOND, 64 << 10);
	struct history_part part;
	uint64_t all = 0, next = 1;

	for (size_t interval = 0; interval < 100; interval++) {
		struct stack_entry entries[100] = {};

		for (size_t i = 1; i < 100; i++)
			entries[i] = entry_of(next++, 1, NULL);
		strcpy(entries[0].key.comm, "[others]");
		entries[0].key.tid = entries[0].key.pid = 1 + interval;
		entries[0].key.end = interval % 3;
		entries[0].value.count = 1;
		check(!history_add(h, entries, 100, (int64_t[MAX_LOSSES]){},
				   (2 + interval) * SECOND));
		all += 100;
		for (size_t i = 1; i < 100; i++)
			free_entry(&entries[i]);
	}
	check(!history_take(h, 0, 0, &part) && sum_of(&part) == all, "%llu of %llu",
	      (unsigned long long)sum_of(&part), (unsigned long long)all);
	history_part_free(&part);
	history_free(h);
}

static void count_stack(void *arg, const uint64_t *frames, uint32_t nr)
{
	(void)frames;
	*(size_t *)arg += nr;
}

/* Threads that run the same code share its frames, as long as one of them is kept, or in a part. */
static void shared(void)
{
	struct history *h = history_new(&measure, SECOND, 1 << 20);
	struct stack_entry entries[3];
	struct history_part part;
	size_t shown = 0;

	for (size_t i = 0; i < 3; i++) {
		entries[i] = entry_of(i < 2 ? 4 : 9, 1, NULL); /* 5 frames each */
		entries[i].key.tid = 100 + i;
	}
	check(!history_add(h, entries, 3, (int64_t[MAX_LOSSES]){}, 2 * SECOND));
	for (size_t i = 0; i < 3; i++)
		free_entry(&entries[i]);
	check(!history_take(h, 0, 0, &part) && part.nr == 3);
	for (size_t i = 1; i < 3; i++)
		for (size_t j = 0; j < i; j++)
			check((part.entries[i].user == part.entries[j].user) ==
			      (part.entries[i].key.user_stack == part.entries[j].key.user_stack));
	history_each_stack(h, count_stack, &shown);
	check(shown == 10, "%zu frames are shown", shown);
	history_reset(h);
	shown = 0;
	history_each_stack(h, count_stack, &shown);
	check(shown == 10 && !history_bytes(h), "a part shows its own");
	history_part_free(&part);
	shown = 0;
	history_each_stack(h, count_stack, &shown);
	check(!shown, "none is left");
	history_free(h);
}

/* Frames that were lost at first come later: the stack has them from then on, its waker too. */
static void later(void)
{
	struct history *h = history_new(&measure, SECOND, 1 << 20);
	struct stack_entry entry = entry_of(5, 1, NULL), waker = entry_of(9, 0, NULL);
	struct stack_frames *kernel = frames_of(7, 3);
	const struct stack_frames *user = entry.user, *of_waker = waker.user;
	struct history_part part, first;

	entry.user = waker.user = NULL;
	check(!history_add(h, &entry, 1, (int64_t[MAX_LOSSES]){}, 2 * SECOND));
	check(!history_take(h, 0, 0, &first) && first.nr == 1 && !first.entries[0].user);
	entry.user = user;
	entry.waker = &waker;
	check(!history_add(h, &entry, 1, (int64_t[MAX_LOSSES]){}, 3 * SECOND));
	entry.kernel = kernel;
	waker.user = of_waker;
	check(!history_add(h, &entry, 1, (int64_t[MAX_LOSSES]){}, 4 * SECOND));
	check(!history_take(h, 0, 0, &part) && part.nr == 1 && sum_of(&part) == 3);
	check(part.entries[0].user && part.entries[0].user->nr == 1, "the user stack");
	check(part.entries[0].kernel && part.entries[0].kernel->nr == 3, "the kernel stack");
	check(part.entries[0].waker && part.entries[0].waker->user &&
		      part.entries[0].waker->user->nr == 5,
	      "the waker's stack");
	history_part_free(&part);
	history_reset(h);
	check(!history_bytes(h), "%zu bytes are left", history_bytes(h));
	history_part_free(&first);
	history_free(h);
	free_entry(&entry);
	free_entry(&waker);
	free(kernel);
}

/* Threads come and go, and run the same few stacks: these stay, though not whose each was. */
static void threads(void)
{
	const size_t max = 256 << 10, each = 200;
	struct history *h = history_new(&measure, SECOND, max);
	struct history_part part;
	uint64_t of_stack[8] = {}, of_user[2] = {}, tid = 1;

	for (size_t interval = 0; interval < 300; interval++) {
		struct stack_entry entries[200];

		for (size_t i = 0; i < each; i++) {
			entries[i] = entry_of(1 + i % 7, 1 + i % 3, NULL);
			entries[i].key.pid = entries[i].key.tid = tid++;
			entries[i].key.uid = 1000 + i % 2;
			of_stack[1 + i % 7] += 1 + i % 3;
			of_user[i % 2] += 1 + i % 3;
		}
		check(!history_add(h, entries, each, (int64_t[MAX_LOSSES]){},
				   (2 + interval) * SECOND));
		for (size_t i = 0; i < each; i++)
			free_entry(&entries[i]);
		check(history_bytes(h) <= max);
	}
	check(!history_take(h, 0, 0, &part));
	for (size_t i = 0; i < part.nr; i++) {
		const struct stack_entry *entry = &part.entries[i];

		check(!FRAME_IS_SUMMED(entry->user->frames[0]), "a stack has lost its frames");
		of_stack[entry->key.user_stack] -= entry->value.count;
		of_user[entry->key.uid - 1000] -= entry->value.count;
	}
	check(!of_user[0] && !of_user[1], "each user has the same");
	for (size_t id = 1; id < 8; id++)
		check(!of_stack[id], "stack %zu: %lld are missing", id, (long long)of_stack[id]);
	history_part_free(&part);
	history_free(h);
}

int main(void)
{
	threads();
	others();
	shared();
	later();
	sums();
	limit();
	return check_done();
}
