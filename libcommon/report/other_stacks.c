// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/other_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "report/shares.h"

uint64_t stack_lines(const struct stack_entry *entry)
{
	return 1 + (entry->user ? entry->user->nr : 0) + (entry->kernel ? entry->kernel->nr : 0) +
	       (entry->waker ? stack_lines(entry->waker) : 0);
}

static int by_process_hottest_first(const void *left, const void *right, void *arg)
{
	const struct stack_entry *l = left, *r = right;
	const struct measure *measure = arg;
	uint64_t of_left = measure->value(&l->value), of_right = measure->value(&r->value);
	int order = order_of(l->key.uid, r->key.uid) ?: order_of(l->key.pid, r->key.pid);

	order = order ?: order_of(of_right, of_left);
	return order ?: memcmp(&l->key, &r->key, sizeof(l->key));
}

/* what sums keep apart */
static int by_kind(const void *left, const void *right)
{
	const struct stack_key *l = &((const struct stack_entry *)left)->key;
	const struct stack_key *r = &((const struct stack_entry *)right)->key;

	return order_of(l->tid, r->tid) ?: order_of(l->end, r->end) ?: order_of(l->flags, r->flags);
}

/* how many of the entries, sorted by process, are of the first one's */
static size_t of_one_process(const struct stack_entry *entries, size_t nr)
{
	size_t i = 1;

	while (i < nr && entries[i].key.pid == entries[0].key.pid &&
	       entries[i].key.uid == entries[0].key.uid)
		i++;
	return i;
}

/* how many of a process's entries have room in its share */
static size_t kept_of(const struct stack_entry *entries, size_t nr, uint64_t share)
{
	uint64_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		used += stack_lines(&entries[i]);
		if (used > share)
			return i;
	}
	return nr;
}

/* The sum of the entries, in place of the first */
static int sum_up(struct other_stacks *others, struct stack_entry *entries, size_t nr)
{
	struct stack_frames *mark = malloc(sizeof(*mark) + sizeof(mark->frames[0]));
	struct stack_frames **marks =
		reallocarray(others->marks, others->nr_marks + 1, sizeof(struct stack_frames *));

	if (marks)
		others->marks = marks;
	if (!mark || !marks) {
		free(mark);
		return -ENOMEM;
	}
	marks[others->nr_marks++] = mark;
	*mark = (struct stack_frames){ .nr = 1 };
	mark->frames[0] = FRAME_SUMMED(nr);
	for (size_t i = 1; i < nr; i++)
		stack_value_add(&entries[0].value, &entries[i].value);
	entries[0].key.user_stack = entries[0].key.kernel_stack = entries[0].key.waker = 0;
	entries[0].user = mark;
	entries[0].kernel = NULL;
	entries[0].waker = NULL;
	others->nr += nr;
	return 0;
}

/* How many sums there are, or -ENOMEM */
static ssize_t sum_up_by_kind(struct other_stacks *others, struct stack_entry *entries, size_t nr)
{
	size_t kept = 0;

	qsort(entries, nr, sizeof(*entries), by_kind);
	for (size_t i = 0, same; i < nr; i += same) {
		for (same = 1; i + same < nr && !by_kind(&entries[i], &entries[i + same]); same++)
			;
		if (sum_up(others, &entries[i], same))
			return -ENOMEM;
		entries[kept++] = entries[i];
	}
	return kept;
}

int other_stacks_sum_up(struct other_stacks *others, const struct measure *measure,
			uint64_t max_frames, struct stack_entry *entries, size_t *nr)
{
	size_t nr_claims = 0, kept = 0;
	struct claim *claims;
	uint64_t all = 0;
	int error;

	*others = (struct other_stacks){};
	for (size_t i = 0; i < *nr; i++)
		all += stack_lines(&entries[i]);
	if (all <= max_frames)
		return 0;
	claims = calloc(*nr, sizeof(*claims));
	if (!claims)
		return -ENOMEM;
	qsort_r(entries, *nr, sizeof(*entries), by_process_hottest_first, (void *)measure);
	for (size_t i = 0, n; i < *nr; i += n, nr_claims++) {
		n = of_one_process(&entries[i], *nr - i);
		claims[nr_claims] =
			(struct claim){ .uid = entries[i].key.uid, .pid = entries[i].key.pid };
		for (size_t j = i; j < i + n; j++)
			claims[nr_claims].wanted += stack_lines(&entries[j]);
	}
	error = share_room(claims, nr_claims, max_frames); /* the entries' order is theirs */
	for (size_t i = 0, n, c = 0; i < *nr && !error; i += n, c++) {
		size_t whole;
		ssize_t sums;

		n = of_one_process(&entries[i], *nr - i);
		whole = kept_of(&entries[i], n, claims[c].share);
		sums = sum_up_by_kind(others, &entries[i + whole], n - whole);
		if (sums < 0)
			error = sums;
		else
			memmove(&entries[kept], &entries[i], (whole + sums) * sizeof(*entries));
		kept += whole + sums;
	}
	free(claims);
	if (!error)
		*nr = kept;
	return error;
}

void other_stacks_free(struct other_stacks *others)
{
	for (size_t i = 0; i < others->nr_marks; i++)
		free(others->marks[i]);
	free(others->marks);
}
