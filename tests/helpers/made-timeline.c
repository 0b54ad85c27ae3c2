// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * made-timeline PERIODS THREADS DIRECTORY FORMAT...: a timeline of threads that hand a token round,
 * each woken by the one before, half of them on each of two CPUs; as DIRECTORY/made.FORMAT, of
 * html, json, jsonl, pftrace, folded, txt. Their names are hostile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wallprof/wall.h"
#include "wallprof/wallprof_abi.h"

#define MAX_THREADS 8192
#define START_NS    5000000000000ULL
#define NAME        "a<b>&\"'\033[2J"

static struct stack_entry entries[2 * MAX_THREADS];
static const struct stack_entry *keys[2 * MAX_THREADS];

static uint32_t pseudo_random(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 40;
}

/* key 2 * i: the thread waits; 2 * i + 1: it wakes, or is sampled */
static void make_keys(int nr)
{
	for (int i = 0; i < 2 * nr; i++) {
		struct stack_frames *frames = malloc(sizeof(*frames) + 4 * sizeof(uint64_t));

		frames->nr = 4;
		for (int f = 0; f < 4; f++)
			frames->frames[f] = 0xffffffff81000000ULL + 16 * (f ? f : i + 16);
		entries[i].key.pid = 1000;
		entries[i].key.tid = 1000 + i / 2;
		entries[i].key.flags = (i & 1 ? THREAD_RUNNABLE : THREAD_SLEEPING)
				       << STACK_STATE_SHIFT;
		strcpy(entries[i].key.comm, NAME);
		entries[i].kernel = frames;
	}
}

static void take(struct timeline *timeline, const void *record, size_t bytes)
{
	if (timeline_take(timeline, record, bytes))
		abort();
}

static struct life_header header(int thread, uint32_t number, enum life_kind kind)
{
	return (struct life_header){
		.tid = 1000 + thread, .number = number, .cpu = thread & 1, .kind = kind
	};
}

/* thread i of each CPU runs, wakes the next one, and sleeps; now and then it is sampled */
static void make_lives(struct timeline *timeline, uint64_t periods, int nr)
{
	uint64_t now[2] = { START_NS, START_NS }, left[MAX_THREADS];
	uint32_t number[MAX_THREADS] = {};

	for (int i = 0; i < nr; i++) {
		struct life_name name = { .of = header(i, 0, LIFE_BEGINS),
					  .time_ns = START_NS,
					  .pid = 1000 };

		strcpy(name.comm, NAME);
		take(timeline, &name, sizeof(name));
		left[i] = START_NS;
	}
	for (uint64_t n = 0; n < periods; n++) {
		int i = n % nr, waker = (i + nr - 2) % nr;
		uint64_t *at = &now[i & 1], woken = *at + pseudo_random() % 900 + 100;
		struct life_short_period p = {
			.of = header(i, ++number[i], LIFE_SHORT),
			.left_ns = left[i],
			.key = 2 * i + 1,
			.waker = 2 * waker + 2,
			.blocked_ns = woken - left[i],
			.waiting_low = pseudo_random() % 500 + 100,
		};
		struct life_sample sample = { .of = header(i, 0, LIFE_SAMPLE), .key = 2 * i + 2 };

		take(timeline, &p, sizeof(p));
		*at = woken + p.waiting_low;
		sample.time_ns = *at + 50;
		if (pseudo_random() % 16 == 0)
			take(timeline, &sample, sizeof(sample));
		*at += pseudo_random() % 5000 + 1000;
		left[i] = *at;
	}
	for (int i = 0; i < nr; i++) {
		struct life_end end = { .of = header(i, number[i], LIFE_ENDS), .time_ns = left[i] };

		take(timeline, &end, sizeof(end));
	}
}

static int print(struct wall *wall, const char *directory, const char *format)
{
	static const struct {
		const char *name;
		int (*print)(const struct wall *wall);
	} formats[] = {
		{ "html", wall_html },        { "json", wall_speedscope }, { "jsonl", wall_json },
		{ "pftrace", wall_perfetto }, { "folded", wall_folded },   { "txt", wall_text },
	};
	char path[4096];

	snprintf(path, sizeof(path), "%s/made.%s", directory, format);
	wall->writer.out = fopen(path, "w");
	for (size_t i = 0; wall->writer.out && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(format, formats[i].name))
			return formats[i].print(wall) || fclose(wall->writer.out);
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t periods = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int nr = argc > 2 ? atoi(argv[2]) & ~1 : 0, error = 0;
	struct wall wall = { .period_ns = 1000000, .command = NAME };
	const uint32_t *numbers;

	if (argc < 5 || nr < 4 || nr > MAX_THREADS ||
	    timeline_new((struct timeline **)&wall.timeline))
		return 2;
	make_keys(nr);
	make_lives((struct timeline *)wall.timeline, periods, nr);
	if (timeline_finish((struct timeline *)wall.timeline))
		return 1;
	numbers = timeline_keys(wall.timeline, &wall.nr_keys);
	for (size_t i = 0; i < wall.nr_keys; i++)
		keys[i] = &entries[numbers[i] - 1];
	wall.keys = keys;
	wall.lives = timeline_lives(wall.timeline, &wall.nr_lives);
	wall.from_ns = START_NS;
	for (size_t i = 0; i < wall.nr_lives; i++)
		if (wall.lives[i].to_ns > wall.to_ns)
			wall.to_ns = wall.lives[i].to_ns;
	if (wall_find_idle_lives(&wall))
		return 1;
	for (int i = 4; i < argc; i++)
		error |= print(&wall, argv[3], argv[i]);
	return error;
}
