// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report has room for a limited number of records (periods, runs and samples), and of frames of
 * keys' stacks. Users and their processes share it (report/shares.h), and a process's threads have
 * equal shares of the process's. Once a thread's share is used, the rest of its life is one
 * interval, in which all periods are lost.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/other_stacks.h"
#include "report/shares.h"
#include "wallprof/wall.h"

/* a run, and a period that is blocked, then waiting; at most */
static uint64_t records_of(const struct life *life)
{
	return 3 * life->nr_periods + 1 + life->nr_samples;
}

/* Gives nr lives equal shares of the room; sizes has room for as many. */
static void share_among(uint64_t *shown, uint64_t *sizes, const struct life *lives, size_t nr,
			uint64_t room)
{
	uint64_t share;

	for (size_t i = 0; i < nr; i++)
		sizes[i] = records_of(&lives[i]);
	share = equal_share(sizes, nr, room);
	for (size_t i = 0; i < nr; i++)
		shown[i] = records_of(&lives[i]) <= share ? UINT64_MAX : share;
}

/* how many lives, in order of their processes, are of the first one's */
static size_t of_one_process(const struct life *lives, size_t nr)
{
	size_t i = 1;

	while (i < nr && lives[i].pid == lives[0].pid)
		i++;
	return i;
}

int wall_limit(struct wall *w, uint64_t max_records)
{
	struct claim *claims = calloc(w->nr_lives + 1, sizeof(*claims));
	uint64_t *sizes = calloc(w->nr_lives + 1, sizeof(*sizes));
	size_t nr = 0;
	int error;

	w->limits = calloc(1, sizeof(*w->limits) + w->nr_lives * sizeof(w->limits->shown[0]));
	error = claims && sizes && w->limits ? 0 : -ENOMEM;
	for (size_t i = 0, threads; i < w->nr_lives && !error; i += threads, nr++) {
		threads = of_one_process(&w->lives[i], w->nr_lives - i);
		claims[nr] = (struct claim){ .uid = w->lives[i].uid,
					     .pid = w->lives[i].pid,
					     .first = i };
		for (size_t t = 0; t < threads; t++)
			claims[nr].wanted += records_of(&w->lives[i + t]);
	}
	if (!error)
		error = share_room(claims, nr, max_records);
	for (size_t c = 0; c < nr && !error; c++) {
		size_t i = claims[c].first;

		share_among(&w->limits->shown[i], sizes, &w->lives[i],
			    of_one_process(&w->lives[i], w->nr_lives - i), claims[c].share);
	}
	free(claims);
	free(sizes);
	return error;
}

/* a key of which a report has the stack */
struct numbered {
	const struct stack_entry *key;
	size_t index;
};

static int by_process(const void *left, const void *right)
{
	const struct numbered *l = left, *r = right;
	int order = order_of(l->key->key.uid, r->key->key.uid);

	order = order ?: order_of(l->key->key.pid, r->key->key.pid);
	return order ?: order_of(l->index, r->index);
}

static bool is_of_another(const struct numbered *keys, size_t i)
{
	return !i || keys[i].key->key.pid != keys[i - 1].key->key.pid ||
	       keys[i].key->key.uid != keys[i - 1].key->key.uid;
}

/* the lines that the key's stack takes in the report */
static uint64_t lines_of(const struct numbered *n, const struct wall_sums *sums)
{
	return stack_lines(n->key) * (sums->keys ? sums->keys[n->index + 1].nr : 1);
}

int wall_limit_stacks(struct wall *w, uint64_t max_lines, bool each_record)
{
	struct numbered *keys = calloc(w->nr_keys + 1, sizeof(*keys));
	struct claim *claims = calloc(w->nr_keys + 1, sizeof(*claims)), *claim = claims;
	struct wall_sums sums = {};
	size_t nr = 0, nr_claims = 0;
	uint64_t used = 0;
	uint32_t id = 0;
	int error;

	w->ids = calloc(w->nr_keys + 1, sizeof(*w->ids));
	error = keys && claims && w->ids ? 0 : -ENOMEM;
	if (!error && each_record)
		error = wall_sums_make(&sums, w);
	for (size_t i = 0; i < w->nr_keys && !error; i++)
		if (w->keys[i])
			keys[nr++] = (struct numbered){ w->keys[i], i };
	if (nr)
		qsort(keys, nr, sizeof(*keys), by_process);
	for (size_t i = 0; i < nr; i++) {
		if (is_of_another(keys, i))
			claims[nr_claims++] = (struct claim){ .uid = keys[i].key->key.uid,
							      .pid = keys[i].key->key.pid };
		claims[nr_claims - 1].wanted += lines_of(&keys[i], &sums);
	}
	if (!error)
		error = share_room(claims, nr_claims, max_lines);
	for (size_t i = 0; i < nr && !error; i++) {
		if (i && is_of_another(keys, i)) {
			claim++;
			used = 0;
		}
		used += lines_of(&keys[i], &sums);
		w->ids[keys[i].index] = used <= claim->share;
		w->stacks_left_out += used > claim->share;
	}
	for (size_t i = 0; i < w->nr_keys && !error; i++)
		if (w->ids[i])
			w->ids[i] = ++id;
	wall_sums_free(&sums);
	free(keys);
	free(claims);
	return error;
}

void wall_unlimit(struct wall *w)
{
	free(w->limits);
	free(w->ids);
	w->limits = NULL;
	w->ids = NULL;
	w->stacks_left_out = 0;
}

struct cut {
	const struct timeline_visitor *visitor;
	uint64_t left, left_out;
	enum wall_state before; /* the state of the last interval */
	struct interval rest;   /* .state is WALL_LOST once there is one */
};

/* Of a period that is blocked and then waiting, the first interval counts. */
static uint32_t periods_of(const struct interval *interval, enum wall_state before)
{
	if (interval->state == WALL_LOST)
		return interval->nr_lost;
	return interval->state == WALL_BLOCKED ||
	       (interval->state == WALL_WAITING && before != WALL_BLOCKED);
}

static int see_interval(void *arg, const struct life *life, const struct interval *interval)
{
	struct cut *c = arg;
	enum wall_state before = c->before;

	c->before = interval->state;
	if (c->left) {
		c->left--;
		return c->visitor->interval(c->visitor->arg, life, interval);
	}
	if (c->rest.state != WALL_LOST)
		c->rest = (struct interval){ .state = WALL_LOST, .from_ns = interval->from_ns };
	c->rest.to_ns = interval->to_ns;
	c->rest.nr_lost += periods_of(interval, before);
	c->left_out++;
	return 0;
}

static int see_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct cut *c = arg;

	if (!c->left) {
		c->left_out++;
		return 0;
	}
	c->left--;
	return c->visitor->sample(c->visitor->arg, life, time_ns, key);
}

int wall_visit(const struct wall *w, const struct life *life,
	       const struct timeline_visitor *visitor)
{
	struct cut cut = { .visitor = visitor,
			   .left = w->limits ? w->limits->shown[life - w->lives] : UINT64_MAX };
	const struct timeline_visitor cutting = { see_interval, see_sample, &cut };
	int error;

	if (cut.left == UINT64_MAX)
		return timeline_visit(life, visitor);
	error = timeline_visit(life, &cutting);
	w->limits->left_out += cut.left_out;
	return error || cut.rest.state != WALL_LOST
		       ? error
		       : visitor->interval(visitor->arg, life, &cut.rest);
}
