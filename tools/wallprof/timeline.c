// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"
#include "live/lanes.h"
#include "wallprof/life_log.h"
#include "wallprof/wallprof_abi.h"

/* a thread that has not ended */
struct alive {
	uint32_t tid;
	size_t life;             /* its index */
	uint64_t exits_ns;       /* when it was seen on its way out, 0: it was not; */
	uint32_t exits_number;   /* so many periods had ended by then */
	uint64_t summed_ns;      /* what it did off the CPU before is in the times of keys */
	uint64_t told_ns;        /* what it did before is told to the lanes */
	uint64_t ran_ns;         /* its last run began then */
	struct life_period open; /* that it was told of last; kind 0: it has ended since */
	UT_hash_handle hh;
};

struct timeline {
	struct spool *spool;
	struct life *lives;
	size_t nr_lives, room;
	struct alive *alive;
	/*
	 * our own number of each of the records' keys, 0: it was not named yet; and theirs by ours,
	 * less 1
	 */
	uint32_t *numbers, *keys;
	size_t nr_numbers, number_room, nr_keys, key_room;
	struct key_times *times; /* of each of our numbers, less 1 */
	size_t times_room;
	struct lanes *lanes; /* NULL: none */
	bool is_copy;        /* the spool is another one's */
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
	if (!t)
		return;
	hash_free_all(t->alive);
	for (size_t i = 0; i < t->nr_lives; i++)
		life_log_free(t->lives[i].log);
	free(t->lives);
	free(t->numbers);
	free(t->keys);
	free(t->times);
	if (!t->is_copy)
		spool_free(t->spool);
	free(t);
}

/* ---- for a timeline that is drawn ---- */

void timeline_tell(struct timeline *t, struct lanes *lanes)
{
	t->lanes = lanes;
}

/* Tells what the thread did from what was told on. */
static int tell(struct timeline *t, struct alive *alive, enum lane_state state, uint64_t to_ns)
{
	const struct life *life = &t->lives[alive->life];
	struct lane_thread thread = { .id = alive->life + 1, .pid = life->pid, .tid = life->tid };
	uint64_t from_ns = alive->told_ns;

	if (!t->lanes || to_ns <= from_ns)
		return 0;
	memcpy(thread.comm, life->comm, sizeof(thread.comm));
	alive->told_ns = to_ns;
	return lanes_add(t->lanes, &thread, state, from_ns, to_ns);
}

/*
 * The run ended by to_ns. What the hypervisor and interrupts took of it is told first, as waiting:
 * see timeline_visit.c.
 */
static int tell_run(struct timeline *t, struct alive *alive, uint64_t to_ns, int64_t taken_ns,
		    uint32_t nr_lost)
{
	uint64_t run_ns = alive->ran_ns + (taken_ns > 0 ? taken_ns : 0);
	int error;

	if (nr_lost)
		return tell(t, alive, LANE_LOST, to_ns);
	error = tell(t, alive, LANE_WAITING, run_ns < to_ns ? run_ns : to_ns);
	return error ? error : tell(t, alive, LANE_RUNNING, to_ns);
}

static int tell_period(struct timeline *t, struct alive *alive, const struct life_period *p)
{
	int error = tell(t, alive, LANE_BLOCKED, p->woken_ns);

	alive->ran_ns = p->ran_ns;
	return error ? error : tell(t, alive, LANE_WAITING, p->ran_ns);
}

/* A run that takes long tells nothing before its end but its samples. */
int timeline_tell_runs(struct timeline *t)
{
	int error = 0;

	for (struct alive *alive = t->alive; alive && !error; alive = alive->hh.next)
		error = tell(t, alive, LANE_RUNNING, life_log_sampled(t->lives[alive->life].log));
	return error;
}

/* ---- taking ---- */

static uint64_t max_of(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/* 1 + the key's index, 0: none. -ENOMEM */
static int number_of(struct timeline *t, uint32_t key, uint32_t *number)
{
	*number = 0;
	if (!key)
		return 0;
	if (array_reserve(&t->numbers, &t->number_room, (size_t)key + 1) ||
	    array_reserve(&t->keys, &t->key_room, t->nr_keys + 1) ||
	    array_reserve(&t->times, &t->times_room, t->nr_keys + 1))
		return -ENOMEM;
	while (t->nr_numbers <= key)
		t->numbers[t->nr_numbers++] = 0;
	if (!t->numbers[key]) {
		t->times[t->nr_keys] = (struct key_times){};
		t->keys[t->nr_keys++] = key;
		t->numbers[key] = t->nr_keys;
	}
	*number = t->numbers[key];
	return 0;
}

/*
 * The thread is not alive any more. If its end was not received, what is known of it last is its
 * end.
 */
static void end_alive(struct timeline *t, struct alive *alive, bool ended)
{
	struct life *life = &t->lives[alive->life];
	uint32_t number = alive->exits_ns ? alive->exits_number : life_log_number(life->log);
	uint64_t seen_ns = max_of(alive->exits_ns, life_log_sampled(life->log));

	if (!ended && seen_ns > life_log_end(life->log)) {
		life->nr_lost += life_log_last(life->log, number, seen_ns, 0);
		life->to_ns = life_log_end(life->log);
	}
	life_log_close(life->log);
	HASH_DEL(t->alive, alive);
	free(alive);
}

static struct alive *find_alive(const struct timeline *t, uint32_t tid)
{
	struct alive *alive;

	HASH_FIND(hh, t->alive, &tid, sizeof(tid), alive);
	return alive;
}

/* A new life of this thread; an older one of the same TID is over. NULL: no memory */
static struct life *begin_life(struct timeline *t, uint32_t tid, uint64_t from_ns)
{
	struct alive *alive = find_alive(t, tid);
	struct life *life;

	if (alive)
		end_alive(t, alive, false);
	alive = calloc(1, sizeof(*alive));
	if (!alive)
		return NULL;
	if (array_reserve(&t->lives, &t->room, t->nr_lives + 1)) {
		free(alive);
		return NULL;
	}
	alive->tid = tid;
	alive->told_ns = alive->ran_ns = from_ns;
	alive->life = t->nr_lives++;
	HASH_ADD(hh, t->alive, tid, sizeof(alive->tid), alive);
	life = &t->lives[alive->life];
	*life = (struct life){ .tid = tid, .from_ns = from_ns, .to_ns = from_ns };
	life->log = life_log_new(t->spool, from_ns);
	return life->log ? life : NULL;
}

static struct life *find_life(struct timeline *t, uint32_t tid)
{
	struct alive *alive = find_alive(t, tid);

	return alive ? &t->lives[alive->life] : NULL;
}

/*
 * the life that a record of a moment belongs to; one that begins then if its beginning was not
 * received
 */
static struct life *life_of(struct timeline *t, uint32_t tid, uint64_t time_ns)
{
	struct life *life = find_life(t, tid);

	return life ? life : begin_life(t, tid, time_ns);
}

static int take_name(struct timeline *t, const struct life_name *name)
{
	struct life *life = find_life(t, name->of.tid);
	bool untouched = life && !life->nr_periods && !life->nr_samples;
	/* an interrupt came first, and took a sample */
	bool late = life && name->time_ns <= life->from_ns;

	/* one that both the iterator and its first wake-up have told of */
	if (life && untouched && name->of.kind == LIFE_BEGINS) {
		life->from_ns = life->to_ns = name->time_ns;
		life_log_begin(life->log, name->time_ns);
	} else if (!life || (name->of.kind == LIFE_BEGINS && !late)) {
		life = begin_life(t, name->of.tid, name->time_ns);
	}
	if (!life)
		return -ENOMEM;
	life->pid = name->pid;
	life->uid = name->uid;
	memcpy(life->comm, name->comm, sizeof(life->comm));
	return 0;
}

/* Adds to the times of the key what is not in them yet. */
static void sum_up(struct timeline *t, struct alive *alive, const struct life_period *p,
		   uint32_t number)
{
	struct key_times *times = number ? &t->times[number - 1] : NULL;
	uint64_t blocked_from_ns = max_of(p->left_ns, alive->summed_ns),
		 waiting_from_ns = max_of(p->woken_ns, alive->summed_ns);

	if (times && p->woken_ns > blocked_from_ns)
		times->blocked_ns += p->woken_ns - blocked_from_ns;
	if (times && p->ran_ns > waiting_from_ns)
		times->waiting_ns += p->ran_ns - waiting_from_ns;
	alive->summed_ns = max_of(p->ran_ns, alive->summed_ns);
}

int timeline_take_open(struct timeline *t, const struct life_period *p, bool drained)
{
	struct alive *alive = find_alive(t, p->of.tid);
	int32_t nr_missing;
	uint32_t number;

	if (number_of(t, p->key, &number))
		return -ENOMEM;
	if (!alive)
		return 0;
	nr_missing = p->of.number - life_log_number(t->lives[alive->life].log);
	if (nr_missing && !drained)
		return 0;
	sum_up(t, alive, p, number);
	if (nr_missing < 0)
		return 0; /* it has ended meanwhile, which was told */
	alive->open = *p;
	return tell_run(t, alive, p->left_ns, p->taken_ns, nr_missing) ?: tell_period(t, alive, p);
}

static int take_period(struct timeline *t, const struct life_period *p)
{
	struct life *life = life_of(t, p->of.tid, p->left_ns);
	struct alive *alive = find_alive(t, p->of.tid);
	uint32_t nr_lost;
	struct logged_period logged = {
		.number = p->of.number,
		.open = p->of.kind == LIFE_OPEN,
		.cpu = p->of.cpu,
		.left_ns = p->left_ns,
		.woken_ns = p->woken_ns,
		.ran_ns = p->ran_ns,
		.taken_ns = p->taken_ns,
	};

	if (!life || number_of(t, p->key, &logged.key) || number_of(t, p->waker, &logged.waker))
		return -ENOMEM;
	if (!life->nr_periods && !life->nr_samples && p->left_ns < life->from_ns) {
		life->from_ns = p->left_ns; /* it had left before the iterator came to it */
		life_log_begin(life->log, p->left_ns);
	}
	sum_up(t, alive, p, logged.key);
	alive->open = (struct life_period){};
	if (logged.key)
		t->times[logged.key - 1].periods++;
	nr_lost = life_log_period(life->log, &logged);
	life->nr_lost += nr_lost;
	life->nr_periods += !spool_error(t->spool);
	life->to_ns = life_log_end(life->log);
	if (tell_run(t, alive, p->left_ns, p->taken_ns, nr_lost) || tell_period(t, alive, p))
		return -ENOMEM;
	if (logged.open)
		end_alive(t, alive, true);
	return 0;
}

static int take_short_period(struct timeline *t, const struct life_short_period *less)
{
	struct life_period p = {
		.of = less->of,
		.left_ns = less->left_ns,
		.key = less->key,
		.waker = less->waker,
		.taken_ns = less->taken_ns,
	};

	p.woken_ns = p.left_ns + less->blocked_ns;
	p.ran_ns = p.woken_ns + (less->waiting_low | (uint64_t)less->waiting_high << 16);
	return take_period(t, &p);
}

static int take_sample(struct timeline *t, const struct life_sample *s)
{
	struct life *life = life_of(t, s->of.tid, s->time_ns);
	uint32_t key;

	if (!life || number_of(t, s->key, &key))
		return -ENOMEM;
	if (key)
		t->times[key - 1].samples++;
	life_log_sample(life->log, s->time_ns, key);
	life->nr_samples += !spool_error(t->spool);
	life->to_ns = life_log_end(life->log);
	return 0;
}

static int take_end(struct timeline *t, const struct life_end *end)
{
	struct alive *alive = find_alive(t, end->of.tid);
	struct life *life;
	uint32_t nr_lost;
	int error;

	if (!alive)
		return 0;
	if (end->of.kind == LIFE_EXITS) {
		alive->exits_ns = end->time_ns;
		alive->exits_number = end->of.number;
		return 0;
	}
	life = &t->lives[alive->life];
	nr_lost = life_log_last(life->log, end->of.number, end->time_ns, end->taken_ns);
	life->nr_lost += nr_lost;
	life->to_ns = life_log_end(life->log);
	error = tell_run(t, alive, end->time_ns, end->taken_ns, nr_lost);
	end_alive(t, alive, true);
	return error;
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
	case LIFE_SHORT:
		return bytes < sizeof(struct life_short_period) ? -EBADMSG
								: take_short_period(t, record);
	case LIFE_SAMPLE:
		return bytes < sizeof(struct life_sample) ? -EBADMSG : take_sample(t, record);
	case LIFE_EXITS:
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
	int order = order_of(l->pid, r->pid) ?: order_of(l->tid, r->tid);

	return order ?: order_of(l->from_ns, r->from_ns);
}

int timeline_finish(struct timeline *t)
{
	struct alive *alive, *next;

	HASH_ITER(hh, t->alive, alive, next)
		end_alive(t, alive, false);
	if (t->nr_lives)
		qsort(t->lives, t->nr_lives, sizeof(*t->lives), by_process);
	return spool_error(t->spool);
}

/* what a life has in the time that is kept */
struct kept {
	uint64_t nr_periods, nr_samples, nr_lost;
	enum wall_state last;
};

/* A period is blocked, waiting, or first the one and then the other. */
static int count_interval(void *arg, const struct life *life, const struct interval *interval)
{
	struct kept *kept = arg;

	(void)life;
	kept->nr_periods += interval->state == WALL_BLOCKED ||
			    (interval->state == WALL_WAITING && kept->last != WALL_BLOCKED);
	kept->nr_lost += interval->nr_lost;
	kept->last = interval->state;
	return 0;
}

static int count_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct kept *kept = arg;

	(void)life;
	(void)time_ns;
	(void)key;
	kept->nr_samples++;
	return 0;
}

static int cut_life(struct life *life, uint64_t from_ns, uint64_t to_ns)
{
	struct kept kept = { .last = WALL_RUNNING };
	const struct timeline_visitor visitor = { .interval = count_interval,
						  .sample = count_sample,
						  .arg = &kept };
	int error;

	life->from_ns = max_of(life->from_ns, from_ns);
	life->to_ns = life->to_ns < to_ns ? life->to_ns : to_ns;
	life->cut = true;
	error = timeline_visit(life, &visitor);
	life->nr_periods = kept.nr_periods;
	life->nr_samples = kept.nr_samples;
	life->nr_lost = kept.nr_lost;
	return error;
}

int timeline_cut(struct timeline *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t nr = 0;
	int error = 0;

	for (size_t i = 0; i < t->nr_lives; i++) {
		struct life life = t->lives[i];

		if (life.to_ns <= from_ns || life.from_ns >= to_ns) {
			life_log_free(life.log);
			continue;
		}
		if (!error)
			error = cut_life(&life, from_ns, to_ns);
		t->lives[nr++] = life;
	}
	t->nr_lives = nr;
	return error;
}

void timeline_keep(struct timeline *t, bool (*is_kept)(void *arg, const struct life *life),
		   void *arg)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_lives; i++) {
		if (is_kept(arg, &t->lives[i]))
			t->lives[nr++] = t->lives[i];
		else
			life_log_free(t->lives[i].log);
	}
	t->nr_lives = nr;
}

/* ---- a copy ---- */

/* NULL: no memory */
static void *copy_of(const void *array, size_t nr, size_t size, size_t *room)
{
	void *copy = calloc(nr + 1, size);

	if (copy && nr)
		memcpy(copy, array, nr * size);
	*room = nr;
	return copy;
}

/* Copies the life; *place: where it is now */
static int copy_life(struct timeline *c, const struct life *life, size_t *place)
{
	struct life copy = *life;

	*place = c->nr_lives;
	if (array_reserve(&c->lives, &c->room, c->nr_lives + 1))
		return -ENOMEM;
	copy.log = life_log_copy(life->log);
	if (copy.log)
		c->lives[c->nr_lives++] = copy;
	return copy.log ? 0 : -ENOMEM;
}

static int copy_alive(struct timeline *c, const struct timeline *t, const struct alive *from)
{
	struct alive *alive = malloc(sizeof(*alive));
	int error;

	if (!alive)
		return -ENOMEM;
	*alive = *from;
	error = copy_life(c, &t->lives[from->life], &alive->life);
	if (error)
		free(alive);
	else
		HASH_ADD(hh, c->alive, tid, sizeof(alive->tid), alive);
	return error ? error : from->open.of.kind ? take_period(c, &from->open) : 0;
}

static int copy_ended(struct timeline *c, const struct timeline *t, uint64_t from_ns,
		      uint64_t to_ns)
{
	bool *is_alive = calloc(t->nr_lives + 1, sizeof(*is_alive));
	int error = is_alive ? 0 : -ENOMEM;
	size_t place;

	for (const struct alive *alive = t->alive; alive && !error; alive = alive->hh.next)
		is_alive[alive->life] = true;
	for (size_t i = 0; i < t->nr_lives && !error; i++)
		if (!is_alive[i] && t->lives[i].to_ns > from_ns && t->lives[i].from_ns < to_ns)
			error = copy_life(c, &t->lives[i], &place);
	free(is_alive);
	return error;
}

int timeline_copy(struct timeline **copy, const struct timeline *t, uint64_t from_ns,
		  uint64_t to_ns)
{
	struct timeline *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -ENOMEM;
	*c = (struct timeline){ .spool = t->spool,
				.is_copy = true,
				.nr_numbers = t->nr_numbers,
				.nr_keys = t->nr_keys };
	c->numbers = copy_of(t->numbers, t->nr_numbers, sizeof(*c->numbers), &c->number_room);
	c->keys = copy_of(t->keys, t->nr_keys, sizeof(*c->keys), &c->key_room);
	c->times = copy_of(t->times, t->nr_keys, sizeof(*c->times), &c->times_room);
	error = c->numbers && c->keys && c->times ? copy_ended(c, t, from_ns, to_ns) : -ENOMEM;
	for (const struct alive *alive = t->alive; alive && !error; alive = alive->hh.next)
		error = copy_alive(c, t, alive);
	if (!error) {
		timeline_finish(c); /* what the spool has no room for is said at the end */
		error = timeline_cut(c, from_ns, to_ns);
	}
	if (error)
		timeline_free(c);
	else
		*copy = c;
	return error;
}

/* ---- what there is ---- */

const struct life *timeline_lives(const struct timeline *t, size_t *nr)
{
	*nr = t->nr_lives;
	return t->lives;
}

const uint32_t *timeline_keys(const struct timeline *t, size_t *nr)
{
	*nr = t->nr_keys;
	return t->keys;
}

struct key_times *timeline_times(struct timeline *t)
{
	return t->times;
}
