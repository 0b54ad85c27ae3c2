// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whatever arrives, and however late: intervals tile each life, and its samples lie in it, in order
 * of time.
 */
#include "check.h"
#include "wallprof/timeline.h"
#include "wallprof/wallprof_abi.h"

#include <stdlib.h>

#define TID 7

struct seen {
	uint64_t at_ns, sampled_ns;
	unsigned intervals, samples;
	bool wrong;
};

static int see_interval(void *arg, const struct life *life, const struct interval *interval)
{
	struct seen *seen = arg;

	seen->wrong |= interval->from_ns != seen->at_ns || interval->to_ns <= interval->from_ns ||
		       interval->to_ns > life->to_ns;
	seen->at_ns = interval->to_ns;
	seen->intervals++;
	return 0;
}

static int see_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct seen *seen = arg;

	(void)key;
	seen->wrong |= time_ns < seen->sampled_ns || time_ns > life->to_ns;
	seen->sampled_ns = time_ns;
	seen->samples++;
	return 0;
}

/* whether all lives are as they must be; their samples are counted */
static bool is_whole(struct timeline *t, unsigned *samples)
{
	const struct life *lives;
	bool whole = true;
	size_t nr;

	*samples = 0;
	lives = timeline_lives(t, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct seen seen = { .at_ns = lives[i].from_ns, .sampled_ns = lives[i].from_ns };
		const struct timeline_visitor visitor = { see_interval, see_sample, &seen };

		whole &= !timeline_visit(&lives[i], &visitor) && !seen.wrong &&
			 seen.at_ns == lives[i].to_ns;
		*samples += seen.samples;
	}
	return whole;
}

static struct timeline *begin(void)
{
	struct timeline *t = NULL;

	check(!timeline_new(&t), "a timeline is made");
	return t;
}

static int take_name(struct timeline *t, enum life_kind kind, uint64_t time_ns)
{
	const struct life_name name = {
		.of = { .tid = TID, .kind = kind }, .time_ns = time_ns, .pid = TID, .comm = "thread"
	};

	return timeline_take(t, &name, sizeof(name));
}

static int take_sample(struct timeline *t, uint64_t time_ns)
{
	const struct life_sample sample = { .of = { .tid = TID, .kind = LIFE_SAMPLE },
					    .time_ns = time_ns };

	return timeline_take(t, &sample, sizeof(sample));
}

static int take_period(struct timeline *t, enum life_kind kind, uint32_t number, uint64_t left_ns,
		       uint64_t ran_ns)
{
	const struct life_period period = {
		.of = { .tid = TID, .number = number, .kind = kind },
		.left_ns = left_ns,
		.woken_ns = left_ns,
		.ran_ns = ran_ns,
	};

	return timeline_take(t, &period, sizeof(period));
}

static int take_end(struct timeline *t, enum life_kind kind, uint32_t number, uint64_t time_ns)
{
	const struct life_end end = { .of = { .tid = TID, .number = number, .kind = kind },
				      .time_ns = time_ns };

	return timeline_take(t, &end, sizeof(end));
}

/* A sampler that was at work when the measurement ended has a later time than that. */
static void test_sample_after(enum life_kind last)
{
	struct timeline *t = begin();
	unsigned samples;
	int error;

	if (!t)
		return;
	error = take_name(t, LIFE_OBSERVED, 1000) ?: take_period(t, LIFE_PERIOD, 1, 2000, 3000);
	error = error ?: take_sample(t, 4000) ?: take_sample(t, 5005);
	if (last == LIFE_OPEN)
		error = error ?: take_period(t, last, 1, 5000, 5004);
	else if (last != LIFE_SAMPLE)
		error = error ?: take_end(t, last, 1, 5000);
	check(!error, "all is taken, with %d last", last);
	check(!timeline_finish(t) && is_whole(t, &samples) && samples == 2,
	      "a sample is later than what came last: %d", last);
	timeline_free(t);
}

/*
 * An interrupt samples the thread between the moment at which it begins and the record that says
 * so.
 */
static void test_sample_before_name(void)
{
	struct timeline *t = begin();
	const struct life *lives;
	unsigned samples;
	size_t nr;

	if (!t)
		return;
	check(!take_sample(t, 1010) && !take_sample(t, 1020) && !take_name(t, LIFE_BEGINS, 1000) &&
		      !take_period(t, LIFE_PERIOD, 1, 2000, 3000),
	      "a name that comes late is taken");
	lives = timeline_lives(t, &nr);
	check(nr == 1 && lives[0].pid == TID, "it is of the life that its samples have begun");
	check(!take_name(t, LIFE_BEGINS, 4000) && timeline_lives(t, &nr) && nr == 2,
	      "a thread that begins later is another one");
	check(!timeline_finish(t) && is_whole(t, &samples) && samples == 2, "each is whole");
	timeline_free(t);
}

static int add_to_digest(void *arg, const struct life *life, const struct interval *interval)
{
	uint64_t *digest = arg;

	(void)life;
	*digest = (*digest ^ interval->from_ns) * 31 + interval->to_ns * 7 + interval->state +
		  interval->nr_lost + interval->open;
	return 0;
}

static uint64_t digest_of(struct timeline *t)
{
	uint64_t digest = 0;
	const struct timeline_visitor visitor = { .interval = add_to_digest, .arg = &digest };
	const struct life *lives;
	size_t nr;

	lives = timeline_lives(t, &nr);
	for (size_t i = 0; i < nr; i++)
		if (timeline_visit(&lives[i], &visitor))
			return 0;
	return digest;
}

/* a copy of a part, at any moment */
static bool copy_is_whole(struct timeline *t, uint64_t from_ns, uint64_t to_ns)
{
	struct timeline *copy;
	const struct life *lives;
	unsigned samples;
	bool whole;
	size_t nr;

	if (timeline_copy(&copy, t, from_ns, to_ns))
		return false;
	whole = is_whole(copy, &samples);
	lives = timeline_lives(copy, &nr);
	for (size_t i = 0; i < nr; i++)
		whole &= lives[i].from_ns >= from_ns && lives[i].to_ns <= to_ns;
	timeline_free(copy);
	return whole;
}

/*
 * Records of one thread that come late, twice, out of order, or never. Returns a digest of what the
 * timeline is in the end.
 */
static uint64_t test_any_order(unsigned seed, bool copied)
{
	struct timeline *t = begin();
	uint64_t now = 1000, digest;
	uint32_t number = 0;
	unsigned samples;
	bool whole = true;
	int error = 0;

	if (!t)
		return 0;
	srand(seed);
	for (int i = 0; i < 200 && !error; i++) {
		uint64_t time_ns = now + rand() % 200 - 100;

		now += rand() % 100;
		switch (rand() % 12) {
		case 0:
			error = take_name(t, rand() % 2 ? LIFE_BEGINS : LIFE_RENAMED, time_ns);
			break;
		case 1:
			error = take_end(t, LIFE_EXITS + rand() % 2, number, time_ns);
			break;
		case 2:
			error = take_period(t, LIFE_OPEN, number, time_ns, time_ns + rand() % 100);
			break;
		case 3 ... 6:
			number += 1 + !(rand() % 4);
			error = take_period(t, LIFE_PERIOD, number, time_ns,
					    time_ns + rand() % 100);
			break;
		default:
			error = take_sample(t, time_ns);
		}
		if (copied && i % 20 == 0)
			whole &= copy_is_whole(t, 0, UINT64_MAX) && copy_is_whole(t, now / 2, now);
	}
	check(whole, "copies at any moment, seed %u", seed);
	check(!error && !timeline_finish(t) && is_whole(t, &samples),
	      "records in any order, seed %u", seed);
	digest = digest_of(t);
	timeline_free(t);
	return digest;
}

/* a period that goes on is in a copy up to where it was seen, and the measurement goes on */
static void test_copy(void)
{
	const struct life_period open = { .of = { .tid = TID, .number = 1, .kind = LIFE_OPEN },
					  .left_ns = 5000,
					  .woken_ns = 7000,
					  .ran_ns = 7000 };
	struct timeline *t = begin(), *copy;
	const struct life *lives;
	unsigned samples;
	size_t nr;

	if (!t)
		return;
	check(!take_name(t, LIFE_OBSERVED, 1000) && !take_period(t, LIFE_PERIOD, 1, 2000, 3000) &&
	      !take_sample(t, 4000) && !timeline_take_open(t, &open, true));
	check(!timeline_copy(&copy, t, 0, UINT64_MAX) && is_whole(copy, &samples) && samples == 1);
	lives = timeline_lives(copy, &nr);
	check(nr == 1 && lives[0].to_ns == 7000 && lives[0].nr_periods == 2 && !lives[0].nr_lost,
	      "the open period is in it");
	timeline_free(copy);
	check(!take_period(t, LIFE_PERIOD, 2, 5000, 9000) && !take_sample(t, 9500));
	check(!timeline_copy(&copy, t, 2500, 6000) && is_whole(copy, &samples) && samples == 1);
	lives = timeline_lives(copy, &nr);
	check(nr == 1 && lives[0].from_ns == 2500 && lives[0].to_ns == 6000 &&
		      lives[0].nr_periods == 2,
	      "it is cut");
	timeline_free(copy);
	check(!timeline_copy(&copy, t, 10000, 20000));
	timeline_lives(copy, &nr);
	check(!nr, "nothing is known of that time");
	timeline_free(copy);
	check(!timeline_finish(t) && is_whole(t, &samples) && samples == 2);
	lives = timeline_lives(t, &nr);
	check(nr == 1 && lives[0].to_ns == 9500 && lives[0].nr_periods == 2 && !lives[0].nr_lost,
	      "no copy has changed it");
	timeline_free(t);
}

int main(void)
{
	static const enum life_kind lasts[] = { LIFE_RUNS, LIFE_ENDS, LIFE_EXITS, LIFE_OPEN,
						LIFE_SAMPLE };

	for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++)
		test_sample_after(lasts[i]);
	test_sample_before_name();
	for (unsigned seed = 1; seed <= 200; seed++)
		check(test_any_order(seed, true) == test_any_order(seed, false),
		      "no copy changes anything, seed %u", seed);
	test_copy();
	return check_done();
}
