// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/wall_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "stacks_abi.h"

struct summing {
	const struct wall *wall;
	struct wall_sums *sums;
	struct life_sums *life;
};

static int add_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct summing *s = arg;
	const struct stack_entry *key = wall_key(s->wall, i->key);
	uint64_t ns = i->to_ns - i->from_ns;

	(void)life;
	s->life->ns[i->state] += ns;
	if (i->state == WALL_BLOCKED)
		s->life->blocked_ns[key ? STACK_STATE(key->key.flags) : THREAD_SLEEPING] += ns;
	if (key && key->idle)
		return 0;
	s->sums->keys[i->key].nr_blocked += i->state == WALL_BLOCKED;
	if (i->key) {
		s->sums->keys[i->key].ns[i->state] += ns;
		s->sums->keys[i->key].nr++;
	}
	if (i->waker) {
		s->sums->keys[i->waker].waited_for_ns += i->state == WALL_BLOCKED ? ns : 0;
		s->sums->keys[i->waker].nr_woken += i->state == WALL_BLOCKED;
	}
	return 0;
}

static int add_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct summing *s = arg;
	uint64_t ns = s->life->ns[WALL_RUNNING] / life->nr_samples;

	(void)time_ns;
	s->sums->keys[key].ns[WALL_RUNNING] += ns;
	s->sums->keys[key].nr++;
	s->life->unsampled_ns -= ns;
	return 0;
}

int wall_sums_make(struct wall_sums *sums, const struct wall *wall)
{
	struct summing s = { .wall = wall, .sums = sums };
	const struct timeline_visitor intervals = { .interval = add_interval, .arg = &s };
	const struct timeline_visitor samples = { .sample = add_sample, .arg = &s };
	int error = 0;

	sums->keys = calloc(wall->nr_keys + 1, sizeof(*sums->keys));
	sums->lives = calloc(wall->nr_lives + 1, sizeof(*sums->lives));
	if (!sums->keys || !sums->lives)
		error = -ENOMEM;
	for (size_t i = 0; i < wall->nr_lives && !error; i++) {
		s.life = &sums->lives[i];
		error = timeline_visit(&wall->lives[i], &intervals);
		s.life->unsampled_ns = s.life->ns[WALL_RUNNING];
		if (!error && wall->lives[i].nr_samples)
			error = timeline_visit(&wall->lives[i], &samples);
	}
	if (error)
		wall_sums_free(sums);
	return error;
}

void wall_sums_free(struct wall_sums *sums)
{
	free(sums->keys);
	free(sums->lives);
	*sums = (struct wall_sums){};
}
