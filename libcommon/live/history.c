// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"

/* a struct stack_value with fractions, for what decays */
struct weighed {
	double count, blocked_ns, waiting_ns;
};

/* frames that kept stacks share */
struct kept_frames {
	UT_hash_handle hh; /* by the frames themselves */
	size_t users;      /* how many kept stacks */
	size_t listed; /* and how many of these are in the hash or in cells, not only in parts */
	struct stack_frames frames;
};

struct kept_stack {
	struct stack_entry entry; /* its value: since the start */
	struct stack_entry waker;
	UT_hash_handle hh;
	size_t refs;            /* the history's: the hash and cells */
	size_t parts;           /* so many parts have it, too, and keep it */
	struct stack_value sum; /* for history_take() */
	struct weighed weighed; /* with history_take_decaying() */
	uint64_t round;         /* the number of the call that has made the sum */
};

/* a stack's value in an interval */
struct cell {
	struct kept_stack *stack;
	struct stack_value value;
};

struct interval {
	struct interval *next;
	uint64_t from_ns, until_ns;
	int64_t lost[MAX_LOSSES];
	size_t nr;
	struct cell cells[];
};

struct history {
	const struct measure *measure;
	struct kept_stack *stacks;
	struct kept_frames *user, *kernel;
	struct interval *first, *last;
	uint64_t from_ns, until_ns, round;
	int64_t lost[MAX_LOSSES]; /* since the start */
	size_t bytes, of_intervals, max_bytes;
	/* the stack of one frame that stands for the coldest ones */
	struct {
		struct stack_frames frames;
		uint64_t frame;
	} mark;
};

struct history *history_new(const struct measure *measure, uint64_t began_ns, size_t max_bytes)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->measure = measure;
	h->max_bytes = max_bytes;
	h->from_ns = h->until_ns = began_ns;
	h->mark.frames.nr = 1;
	h->mark.frames.frames[0] = FRAME_SUMMED(1);
	return h;
}

size_t history_bytes(const struct history *h)
{
	return h->bytes;
}

/* ---- frames ---- */

static struct kept_frames *kept_of(const struct stack_frames *frames)
{
	return (struct kept_frames *)((char *)frames - offsetof(struct kept_frames, frames));
}

static size_t bytes_of_frames(const struct stack_frames *frames)
{
	return sizeof(struct kept_frames) + frames->nr * sizeof(frames->frames[0]);
}

/* *frames becomes the history's copy, which has one more user. 0 or -ENOMEM */
static int keep_frames(struct history *h, struct kept_frames **all,
		       const struct stack_frames **frames)
{
	size_t key_bytes = (*frames)->nr * sizeof((*frames)->frames[0]);
	struct kept_frames *kept;

	HASH_FIND(hh, *all, (*frames)->frames, key_bytes, kept);
	if (!kept) {
		kept = calloc(1, bytes_of_frames(*frames));
		if (!kept)
			return -ENOMEM;
		memcpy(&kept->frames, *frames, sizeof(**frames) + key_bytes);
		HASH_ADD_KEYPTR(hh, *all, kept->frames.frames, key_bytes, kept);
	}
	kept->users++;
	if (!kept->listed++)
		h->bytes += bytes_of_frames(&kept->frames);
	*frames = &kept->frames;
	return 0;
}

static void unlist_frames(struct history *h, const struct stack_frames *frames)
{
	if (frames && !--kept_of(frames)->listed)
		h->bytes -= bytes_of_frames(frames);
}

static void drop_frames(struct kept_frames **all, const struct stack_frames *frames)
{
	struct kept_frames *kept = frames ? kept_of(frames) : NULL;

	if (!kept || --kept->users)
		return;
	HASH_DEL(*all, kept);
	free(kept);
}

/* ---- stacks ---- */

static void free_unused(struct history *h, struct kept_stack *stack)
{
	if (stack->refs || stack->parts)
		return;
	drop_frames(&h->user, stack->entry.user);
	drop_frames(&h->kernel, stack->entry.kernel);
	drop_frames(&h->user, stack->waker.user);
	drop_frames(&h->kernel, stack->waker.kernel);
	free(stack);
}

static void drop(struct history *h, struct kept_stack *stack)
{
	if (--stack->refs)
		return;
	unlist_frames(h, stack->entry.user);
	unlist_frames(h, stack->entry.kernel);
	unlist_frames(h, stack->waker.user);
	unlist_frames(h, stack->waker.kernel);
	h->bytes -= sizeof(*stack);
	free_unused(h, stack);
}

static void unlist(struct history *h, struct kept_stack *stack)
{
	HASH_DELETE(hh, h->stacks, stack);
	drop(h, stack);
}

/* Copies the entry's frames that the kept stack lacks: at first they may have been lost. */
static int keep_all_frames(struct history *h, struct kept_stack *stack,
			   const struct stack_entry *entry)
{
	const struct stack_entry *waker = entry->waker;
	const struct {
		struct kept_frames **all;
		const struct stack_frames *from, **to;
	} frames[] = {
		{ &h->user, entry->user, &stack->entry.user },
		{ &h->kernel, entry->kernel, &stack->entry.kernel },
		{ &h->user, waker ? waker->user : NULL, &stack->waker.user },
		{ &h->kernel, waker ? waker->kernel : NULL, &stack->waker.kernel },
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		const struct stack_frames *kept = frames[i].from;

		if (!kept || *frames[i].to)
			continue;
		if (keep_frames(h, frames[i].all, &kept))
			return -ENOMEM;
		*frames[i].to = kept;
	}
	return 0;
}

/* the kept stack with this key, which is added if it is new; NULL: no memory */
static struct kept_stack *keep(struct history *h, const struct stack_entry *entry)
{
	struct kept_stack *stack;

	HASH_FIND(hh, h->stacks, &entry->key, sizeof(entry->key), stack);
	if (!stack) {
		stack = calloc(1, sizeof(*stack));
		if (!stack)
			return NULL;
		stack->refs = 1;
		stack->entry.key = entry->key;
		h->bytes += sizeof(*stack);
		HASH_ADD(hh, h->stacks, entry.key, sizeof(stack->entry.key), stack);
	}
	if (entry->waker && !stack->entry.waker) {
		stack->waker.key = entry->waker->key;
		stack->entry.waker = &stack->waker;
	}
	return keep_all_frames(h, stack, entry) ? NULL : stack;
}

/* ---- intervals ---- */

static size_t bytes_of(const struct interval *interval)
{
	return sizeof(*interval) + interval->nr * sizeof(interval->cells[0]);
}

static void drop_first(struct history *h)
{
	struct interval *interval = h->first;

	h->first = interval->next;
	if (!h->first)
		h->last = NULL;
	h->bytes -= bytes_of(interval);
	h->of_intervals -= bytes_of(interval);
	for (size_t i = 0; i < interval->nr; i++)
		drop(h, interval->cells[i].stack);
	free(interval);
}

void history_reset(struct history *h)
{
	struct kept_stack *stack, *next;

	while (h->first)
		drop_first(h);
	HASH_ITER(hh, h->stacks, stack, next)
		unlist(h, stack);
	memset(h->lost, 0, sizeof(h->lost));
	h->from_ns = h->until_ns;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	history_reset(h);
	free(h);
}

/* ---- the limit ---- */

static int coldest_first(const void *left, const void *right, void *arg)
{
	const struct kept_stack *const *l = left, *const *r = right;
	const struct measure *measure = arg;

	return order_of(measure->value(&(*l)->entry.value), measure->value(&(*r)->entry.value));
}

static bool is_sum(const struct kept_stack *stack)
{
	return stack->entry.user && stack->entry.user->nr == 1 &&
	       FRAME_IS_SUMMED(stack->entry.user->frames[0]);
}

/* the key of the sum of all threads' stacks that are equal but for the thread */
static struct stack_key without_thread(struct stack_key key)
{
	key.pid = key.tid = 0;
	return key;
}

/* Adds the stack's value to the kept stack of this entry, which may be new, and forgets it. */
static int add_to(struct history *h, const struct stack_entry *entry, struct kept_stack *stack)
{
	struct kept_stack *sum = keep(h, entry);

	if (!sum)
		return -ENOMEM;
	if (sum == stack)
		return 0;
	stack_value_add(&sum->entry.value, &stack->entry.value);
	unlist(h, stack);
	return 0;
}

static int leave_thread(struct history *h, struct kept_stack *stack)
{
	struct stack_entry entry = stack->entry;

	entry.key = without_thread(entry.key);
	return add_to(h, &entry, stack);
}

static int leave_frames(struct history *h, struct kept_stack *stack)
{
	const struct stack_entry entry = { .key = { .end = stack->entry.key.end,
						    .flags = stack->entry.key.flags,
						    .comm = "[others]" },
					   .user = &h->mark.frames };

	return add_to(h, &entry, stack);
}

/*
 * Those that are freed if they are left out, the coldest first: no interval has them. One that a
 * part has is freed with the part. The caller frees the array. NULL: no memory
 */
static struct kept_stack **list_coldest(struct history *h, size_t *nr)
{
	size_t all = HASH_COUNT(h->stacks);
	struct kept_stack **sorted = calloc(all + 1, sizeof(*sorted)), *stack, *next;

	*nr = 0;
	if (!sorted)
		return NULL;
	HASH_ITER(hh, h->stacks, stack, next)
		if (stack->refs == 1 && !is_sum(stack))
			sorted[(*nr)++] = stack;
	qsort_r(sorted, *nr, sizeof(*sorted), coldest_first, (void *)h->measure);
	return sorted;
}

/* a stack whose thread is left out when another one's, with the same key but for it, is met */
struct alone {
	struct stack_key key;
	UT_hash_handle hh;
	struct kept_stack *stack;
};

/* Sums the stack up with those that are equal but for the thread, if there are any. */
static int merge_threads(struct history *h, struct alone **all, struct kept_stack *stack)
{
	struct stack_key key = without_thread(stack->entry.key);
	struct kept_stack *sum;
	struct alone *alone;
	int error;

	if (!stack->entry.key.tid || (stack->entry.user && stack->entry.user->own))
		return 0;
	HASH_FIND(hh, h->stacks, &key, sizeof(key), sum);
	if (sum)
		return leave_thread(h, stack);
	HASH_FIND(hh, *all, &key, sizeof(key), alone);
	if (alone) {
		error = leave_thread(h, alone->stack);
		return error ? error : leave_thread(h, stack);
	}
	alone = calloc(1, sizeof(*alone));
	if (!alone)
		return -ENOMEM;
	alone->key = key;
	alone->stack = stack;
	HASH_ADD(hh, *all, key, sizeof(alone->key), alone);
	return 0;
}

/* Sums up the coldest stacks, until half of the room is free. */
static int sum_up_coldest(struct history *h)
{
	struct alone *alone = NULL;
	size_t nr;
	struct kept_stack **sorted = list_coldest(h, &nr);
	int error = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error && h->bytes > h->max_bytes / 2; i++)
		error = merge_threads(h, &alone, sorted[i]);
	hash_free_all(alone);
	free(sorted);
	if (error || h->bytes <= h->max_bytes / 4 * 3)
		return error;
	sorted = list_coldest(h, &nr);
	error = sorted ? 0 : -ENOMEM;
	if (nr * sizeof(**sorted) < h->max_bytes / 4 && h->first != h->last)
		nr = 0; /* an older interval's stacks take more */
	for (size_t i = 0; i < nr && !error && h->bytes > h->max_bytes / 2; i++)
		error = leave_frames(h, sorted[i]);
	free(sorted);
	return error;
}

/* The last interval stays, whatever it takes. */
static int bound(struct history *h)
{
	int error = 0;

	while (h->of_intervals > h->max_bytes / 4 && h->first != h->last)
		drop_first(h);
	while (h->bytes > h->max_bytes && !error) {
		size_t of_intervals = h->of_intervals;

		error = sum_up_coldest(h);
		if (h->bytes <= h->max_bytes || h->first == h->last)
			break;
		while (h->of_intervals > of_intervals / 2 && h->first != h->last)
			drop_first(h);
	}
	return error;
}

static void add_lost(int64_t sum[MAX_LOSSES], const int64_t lost[MAX_LOSSES])
{
	for (size_t i = 0; i < MAX_LOSSES; i++)
		sum[i] += lost[i];
}

int history_add(struct history *h, const struct stack_entry *entries, size_t nr,
		const int64_t lost[MAX_LOSSES], uint64_t until_ns)
{
	struct interval *interval = calloc(1, sizeof(*interval) + nr * sizeof(interval->cells[0]));

	if (!interval)
		return -ENOMEM;
	interval->from_ns = h->until_ns;
	interval->until_ns = h->until_ns = until_ns;
	add_lost(interval->lost, lost);
	add_lost(h->lost, lost);
	*(h->last ? &h->last->next : &h->first) = interval;
	h->last = interval;
	h->bytes += bytes_of(interval);
	h->of_intervals += bytes_of(interval);
	for (size_t i = 0; i < nr; i++) {
		struct kept_stack *stack = keep(h, &entries[i]);

		if (!stack)
			return -ENOMEM;
		stack->refs++;
		stack_value_add(&stack->entry.value, &entries[i].value);
		interval->cells[interval->nr++] = (struct cell){ stack, entries[i].value };
		h->bytes += sizeof(interval->cells[0]);
		h->of_intervals += sizeof(interval->cells[0]);
	}
	return bound(h);
}

/* ---- taking ---- */

static int put(struct history_part *part, size_t *room, struct kept_stack *stack)
{
	if (array_reserve(&part->stacks, room, part->nr_stacks + 1))
		return -ENOMEM;
	part->stacks[part->nr_stacks++] = stack;
	stack->parts++;
	return 0;
}

static int put_all(struct history *h, struct history_part *part, size_t *room)
{
	struct kept_stack *stack, *next;
	int error = 0;

	part->from_ns = h->from_ns;
	add_lost(part->lost, h->lost);
	HASH_ITER(hh, h->stacks, stack, next) {
		stack->sum = stack->entry.value;
		if (!error)
			error = put(part, room, stack);
	}
	return error;
}

static void add_weighed(struct weighed *sum, const struct stack_value *value, double weight)
{
	sum->count += value->count * weight;
	sum->blocked_ns += value->blocked_ns * weight;
	sum->waiting_ns += value->waiting_ns * weight;
}

/* weight 1: all of it */
static int put_interval(struct history *h, struct history_part *part, size_t *room,
			const struct interval *interval, double weight)
{
	int error = 0;

	for (size_t i = 0; i < interval->nr && !error; i++) {
		struct kept_stack *stack = interval->cells[i].stack;

		if (stack->round != h->round) {
			stack->round = h->round;
			stack->sum = (struct stack_value){};
			stack->weighed = (struct weighed){};
			error = put(part, room, stack);
		}
		if (weight < 1)
			add_weighed(&stack->weighed, &interval->cells[i].value, weight);
		else
			stack_value_add(&stack->sum, &interval->cells[i].value);
	}
	return error;
}

static int put_last(struct history *h, struct history_part *part, size_t *room, uint64_t last_ns)
{
	int error = 0;

	h->round++;
	part->from_ns = part->until_ns;
	for (const struct interval *i = h->first; i && !error; i = i->next) {
		if (i->until_ns > part->until_ns || part->until_ns - i->until_ns >= last_ns)
			continue;
		if (i->from_ns < part->from_ns)
			part->from_ns = i->from_ns;
		add_lost(part->lost, i->lost);
		error = put_interval(h, part, room, i, 1);
	}
	return error;
}

/* Rounds what was weighed. What is lost of one stack's value is added to the next one's. */
static void round_weighed(struct history_part *part)
{
	struct weighed carry = {};

	for (size_t i = 0; i < part->nr_stacks; i++) {
		const struct weighed *weighed = &part->stacks[i]->weighed;
		struct stack_value rounded;

		carry.count += weighed->count;
		carry.blocked_ns += weighed->blocked_ns;
		carry.waiting_ns += weighed->waiting_ns;
		rounded = (struct stack_value){ .count = carry.count,
						.blocked_ns = carry.blocked_ns,
						.waiting_ns = carry.waiting_ns };
		carry.count -= rounded.count;
		carry.blocked_ns -= rounded.blocked_ns;
		carry.waiting_ns -= rounded.waiting_ns;
		stack_value_add(&part->stacks[i]->sum, &rounded);
	}
}

static int put_decaying(struct history *h, struct history_part *part, size_t *room,
			uint64_t half_ns)
{
	double time_ns = 0, lost[MAX_LOSSES] = {};
	uint64_t last_ns = 0;
	int error = 0;

	for (const struct interval *i = h->first; i && i->until_ns <= part->until_ns; i = i->next)
		last_ns = i->until_ns;
	part->until_ns = last_ns ? last_ns : part->until_ns;
	part->first_ns = last_ns ? h->first->from_ns : part->until_ns;
	h->round++;
	for (const struct interval *i = h->first; i && !error && i->until_ns <= last_ns;
	     i = i->next) {
		double weight = exp2(-((double)(last_ns - i->until_ns) / half_ns));

		time_ns += weight * (i->until_ns - i->from_ns);
		for (size_t row = 0; row < MAX_LOSSES; row++)
			lost[row] += weight * i->lost[row];
		add_lost(part->lost_since_first, i->lost);
		error = put_interval(h, part, room, i, weight);
	}
	for (size_t row = 0; row < MAX_LOSSES; row++)
		part->lost[row] = llround(lost[row]);
	part->from_ns = part->until_ns - time_ns;
	round_weighed(part);
	return error;
}

static struct history_part begin_part(struct history *h, uint64_t until_ns)
{
	return (struct history_part){ .history = h, .until_ns = until_ns ? until_ns : h->until_ns };
}

/* error: what putting the stacks has returned */
static int end_part(struct history_part *part, int error)
{
	if (!part->first_ns) { /* nothing decays */
		part->first_ns = part->from_ns;
		memcpy(part->lost_since_first, part->lost, sizeof(part->lost));
	}
	part->entries = calloc(part->nr_stacks + 1, sizeof(*part->entries));
	if (!part->entries)
		error = -ENOMEM;
	if (error) {
		history_part_free(part);
		return error;
	}
	for (size_t i = 0; i < part->nr_stacks; i++) {
		const struct kept_stack *stack = part->stacks[i];

		if (!(stack->sum.count | stack->sum.blocked_ns | stack->sum.waiting_ns))
			continue; /* it has decayed */
		part->entries[part->nr] = stack->entry;
		part->entries[part->nr++].value = stack->sum;
	}
	return 0;
}

int history_take(struct history *h, uint64_t last_ns, uint64_t until_ns, struct history_part *part)
{
	size_t room = 0;

	*part = begin_part(h, until_ns);
	return end_part(part,
			last_ns ? put_last(h, part, &room, last_ns) : put_all(h, part, &room));
}

int history_take_decaying(struct history *h, uint64_t half_ns, uint64_t until_ns,
			  struct history_part *part)
{
	size_t room = 0;

	*part = begin_part(h, until_ns);
	return end_part(part, put_decaying(h, part, &room, half_ns));
}

void history_part_free(struct history_part *part)
{
	for (size_t i = 0; i < part->nr_stacks; i++) {
		part->stacks[i]->parts--;
		free_unused(part->history, part->stacks[i]);
	}
	free(part->stacks);
	free(part->entries);
	*part = (struct history_part){};
}

/* ---- what is kept ---- */

void history_each_stack(const struct history *h, see_frames_fn *see, void *see_arg)
{
	for (const struct kept_frames *kept = h->user; kept; kept = kept->hh.next)
		see(see_arg, kept->frames.frames, kept->frames.nr);
}
