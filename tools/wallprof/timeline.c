// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/array.h"
#include "wallprof/life_log.h"
#include "wallprof/wallprof_abi.h"

struct named_key {
	uint64_t id;
	uint32_t number;
	UT_hash_handle hh;
};

/* a thread that has not ended */
struct alive {
	uint32_t tid;
	size_t life;		/* its index */
	UT_hash_handle hh;
};

struct timeline {
	struct spool *spool;
	struct life *lives;
	size_t nr_lives, room;
	struct alive *alive;
	struct named_key *keys;
	uint64_t *key_ids;
	size_t nr_keys, key_room;
};

int timeline_new(struct timeline **timeline)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return -ENOMEM;
	error = spool_new(&t->spool);
	if (error)
		timeline_free(t);
	else
		*timeline = t;
	return error;
}

void timeline_free(struct timeline *t)
{
	struct named_key *key, *next_key;
	struct alive *alive, *next;

	if (!t)
		return;
	HASH_ITER(hh, t->keys, key, next_key) {
		HASH_DEL(t->keys, key);
		free(key);
	}
	HASH_ITER(hh, t->alive, alive, next) {
		HASH_DEL(t->alive, alive);
		free(alive);
	}
	for (size_t i = 0; i < t->nr_lives; i++)
		life_log_free(t->lives[i].log);
	free(t->lives);
	free(t->key_ids);
	spool_free(t->spool);
	free(t);
}

/* ---- taking ---- */

/* 1 + the key's index, 0: none. -ENOMEM */
static int number_of(struct timeline *t, uint64_t id, uint32_t *number)
{
	struct named_key *key;

	*number = 0;
	if (!id)
		return 0;
	HASH_FIND(hh, t->keys, &id, sizeof(id), key);
	if (!key) {
		key = calloc(1, sizeof(*key));
		if (!key || array_reserve(&t->key_ids, &t->key_room, t->nr_keys + 1)) {
			free(key);
			return -ENOMEM;
		}
		t->key_ids[t->nr_keys++] = key->id = id;
		key->number = t->nr_keys;
		HASH_ADD(hh, t->keys, id, sizeof(key->id), key);
	}
	*number = key->number;
	return 0;
}

/* A new life of this thread; an older one of the same TID is over. NULL: no memory */
static struct life *begin_life(struct timeline *t, uint32_t tid, uint64_t from_ns)
{
	struct alive *alive;
	struct life *life;

	HASH_FIND(hh, t->alive, &tid, sizeof(tid), alive);
	if (!alive) {
		alive = calloc(1, sizeof(*alive));
		if (!alive)
			return NULL;
		alive->tid = tid;
		HASH_ADD(hh, t->alive, tid, sizeof(alive->tid), alive);
	}
	if (array_reserve(&t->lives, &t->room, t->nr_lives + 1))
		return NULL;
	alive->life = t->nr_lives++;
	life = &t->lives[alive->life];
	*life = (struct life){ .tid = tid, .from_ns = from_ns, .to_ns = from_ns };
	life->log = life_log_new(t->spool, from_ns);
	return life->log ? life : NULL;
}

static struct life *find_life(struct timeline *t, uint32_t tid)
{
	struct alive *alive;

	HASH_FIND(hh, t->alive, &tid, sizeof(tid), alive);
	return alive ? &t->lives[alive->life] : NULL;
}

/* the life that a record of a moment belongs to; one that begins then if its beginning was not received */
static struct life *life_of(struct timeline *t, uint32_t tid, uint64_t time_ns)
{
	struct life *life = find_life(t, tid);

	return life ? life : begin_life(t, tid, time_ns);
}

static int take_name(struct timeline *t, const struct life_name *name)
{
	struct life *life = find_life(t, name->of.tid);
	bool untouched = life && !life->nr_periods && !life->nr_samples;

	/* one that both the iterator and its first wake-up have told of */
	if (life && untouched && name->of.kind == LIFE_BEGINS) {
		life->from_ns = life->to_ns = name->time_ns;
		life_log_begin(life->log, name->time_ns);
	} else if (!life || name->of.kind == LIFE_BEGINS) {
		life = begin_life(t, name->of.tid, name->time_ns);
	}
	if (!life)
		return -ENOMEM;
	life->pid = name->pid;
	memcpy(life->comm, name->comm, sizeof(life->comm));
	return 0;
}

static void end_life(struct timeline *t, struct life *life)
{
	struct alive *alive;

	HASH_FIND(hh, t->alive, &life->tid, sizeof(life->tid), alive);
	if (alive) {
		HASH_DEL(t->alive, alive);
		free(alive);
	}
}

static int take_period(struct timeline *t, const struct life_period *p)
{
	struct life *life = life_of(t, p->of.tid, p->left_ns);
	struct logged_period logged = {
		.number = p->of.number, .open = p->of.kind == LIFE_OPEN, .cpu = p->of.cpu,
		.left_ns = p->left_ns, .woken_ns = p->woken_ns, .ran_ns = p->ran_ns,
	};

	if (!life || number_of(t, p->key, &logged.key) || number_of(t, p->waker, &logged.waker))
		return -ENOMEM;
	if (!life->nr_periods && !life->nr_samples && p->left_ns < life->from_ns) {
		life->from_ns = p->left_ns;	/* it had left before the iterator came to it */
		life_log_begin(life->log, p->left_ns);
	}
	life->nr_lost += life_log_period(life->log, &logged);
	life->nr_periods++;
	life->to_ns = life_log_end(life->log);
	if (logged.open)
		end_life(t, life);
	return 0;
}

static int take_sample(struct timeline *t, const struct life_sample *s)
{
	struct life *life = life_of(t, s->of.tid, s->time_ns);
	uint32_t key;

	if (!life || number_of(t, s->key, &key))
		return -ENOMEM;
	life_log_sample(life->log, s->time_ns, key);
	life->nr_samples++;
	life->to_ns = life_log_end(life->log);
	return 0;
}

static int take_end(struct timeline *t, const struct life_end *end)
{
	struct life *life = find_life(t, end->of.tid);

	if (!life)
		return 0;
	life->nr_lost += life_log_last(life->log, end->of.number, end->time_ns);
	life->to_ns = life_log_end(life->log);
	end_life(t, life);
	return 0;
}

int timeline_take(void *arg, const void *record, size_t bytes)
{
	const struct life_header *header = record;
	struct timeline *t = arg;

	if (bytes < sizeof(*header))
		return -EBADMSG;
	switch (header->kind) {
	case LIFE_BEGINS:
	case LIFE_OBSERVED:
	case LIFE_RENAMED:
		return bytes < sizeof(struct life_name) ? -EBADMSG : take_name(t, record);
	case LIFE_PERIOD:
	case LIFE_OPEN:
		return bytes < sizeof(struct life_period) ? -EBADMSG : take_period(t, record);
	case LIFE_SAMPLE:
		return bytes < sizeof(struct life_sample) ? -EBADMSG : take_sample(t, record);
	case LIFE_ENDS:
	case LIFE_RUNS:
		return bytes < sizeof(struct life_end) ? -EBADMSG : take_end(t, record);
	default:
		return -EBADMSG;
	}
}

/* ---- what was taken ---- */

static int by_process(const void *left, const void *right)
{
	const struct life *l = left, *r = right;

	if (l->pid != r->pid)
		return l->pid < r->pid ? -1 : 1;
	if (l->tid != r->tid)
		return l->tid < r->tid ? -1 : 1;
	return l->from_ns == r->from_ns ? 0 : l->from_ns < r->from_ns ? -1 : 1;
}

int timeline_finish(struct timeline *t)
{
	struct alive *alive, *next;

	HASH_ITER(hh, t->alive, alive, next) {
		HASH_DEL(t->alive, alive);
		free(alive);
	}
	qsort(t->lives, t->nr_lives, sizeof(*t->lives), by_process);
	return spool_error(t->spool);
}

const struct life *timeline_lives(const struct timeline *t, size_t *nr)
{
	*nr = t->nr_lives;
	return t->lives;
}

const uint64_t *timeline_keys(const struct timeline *t, size_t *nr)
{
	*nr = t->nr_keys;
	return t->key_ids;
}

/* ---- visiting ---- */

struct visit {
	const struct timeline_visitor *visitor;
	const struct life *life;
	uint64_t at_ns;		/* the intervals reach up to here */
};

static int put(struct visit *v, struct interval interval, enum wall_state state, uint64_t to_ns)
{
	int error = 0;

	interval.state = state;
	interval.from_ns = v->at_ns;
	interval.to_ns = to_ns;
	v->at_ns = to_ns;
	if (interval.from_ns < to_ns && v->visitor->interval)
		error = v->visitor->interval(v->visitor->arg, v->life, &interval);
	return error;
}

/* between two periods it ran, unless others were lost there */
static int put_until(struct visit *v, uint64_t to_ns, uint32_t nr_lost)
{
	return put(v, (struct interval){ .nr_lost = nr_lost }, nr_lost ? WALL_LOST : WALL_RUNNING, to_ns);
}

static int visit_entry(void *arg, const struct log_entry *entry)
{
	const struct logged_period *p = &entry->period;
	struct visit *v = arg;
	struct interval interval;
	int error;

	if (entry->kind == LOG_SAMPLE)
		return v->visitor->sample ?
			       v->visitor->sample(v->visitor->arg, v->life, entry->time_ns, entry->key) : 0;
	if (entry->kind == LOG_END)
		return put_until(v, entry->time_ns, entry->nr_lost);
	interval = (struct interval){ .key = p->key, .open = p->open, .cpu = p->cpu };
	error = put_until(v, p->left_ns, entry->nr_lost);
	if (error)
		return error;
	interval.waker = p->waker;
	error = put(v, interval, WALL_BLOCKED, p->woken_ns);
	return error ? error : put(v, interval, WALL_WAITING, p->ran_ns);
}

int timeline_visit(const struct timeline *t, const struct life *life, const struct timeline_visitor *visitor)
{
	struct visit visit = { visitor, life, life->from_ns };

	(void)t;
	return life_log_read(life->log, visit_entry, &visit);
}

int timeline_visit_all(const struct timeline *t, const struct timeline_visitor *visitor)
{
	int error = 0;

	for (size_t i = 0; i < t->nr_lives && !error; i++)
		error = timeline_visit(t, &t->lives[i], visitor);
	return error;
}
