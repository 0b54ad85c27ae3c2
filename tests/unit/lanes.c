// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was added is in the cells, whatever they stand for; slices that are alike take no room, and
 * old ones go.
 */
#include <errno.h>

#include "check.h"
#include "live/lanes.h"

#define SLICE ((uint64_t)LANE_SLICE_NS)
#define BEGAN 1000000007

static const struct lane_thread one = { .id = 1, .pid = 10, .tid = 11, .comm = "one" },
				two = { .id = 2, .pid = 20, .tid = 21, .comm = "two" };

static int count(void *arg, const struct lane_thread *thread, const struct lane_time *time)
{
	(void)time;
	*(unsigned *)arg |= 1U << thread->id;
	return 0;
}

static unsigned threads_in(const struct lanes *lanes, uint64_t from, uint64_t to)
{
	unsigned seen = 0;

	check(!lanes_visit(lanes, BEGAN + from * SLICE, BEGAN + to * SLICE, count, &seen),
	      "lanes are visited");
	return seen;
}

/* whether a cell has these times, in a thousandth of a slice */
static bool has(const struct lane_time *cell, uint64_t running, uint64_t waiting, uint64_t blocked,
		uint64_t lost)
{
	const uint64_t thousandths[] = { running, waiting, blocked, lost };

	for (int state = 0; state < NR_LANE_STATES; state++)
		if (cell->ns[state] != thousandths[state] * SLICE / 1000)
			return false;
	return true;
}

static void add(struct lanes *lanes, const struct lane_thread *thread, enum lane_state state,
		uint64_t from, uint64_t to)
{
	if (lanes_add(lanes, thread, state, BEGAN + from * SLICE / 1000, BEGAN + to * SLICE / 1000))
		check(false, "a time is added");
}

static void parts_of_slices(void)
{
	struct lanes *lanes = lanes_new(BEGAN, 1 << 20);
	struct lane_time cells[4];

	check(!lanes_add(lanes, &one, LANE_BLOCKED, 5, BEGAN + SLICE / 4),
	      "what began before is cut");
	add(lanes, &one, LANE_WAITING, 250, 500);
	add(lanes, &one, LANE_RUNNING, 500, 2600);
	add(lanes, &one, LANE_LOST, 2600, 3000);
	add(lanes, &one, LANE_BLOCKED, 3000, 8000);
	add(lanes, &two, LANE_RUNNING, 7000, 7001);
	lanes_cells(lanes, 1, BEGAN, SLICE, 4, cells);
	check(has(&cells[0], 500, 250, 250, 0) && has(&cells[1], 1000, 0, 0, 0) &&
		      has(&cells[2], 600, 0, 0, 400) && has(&cells[3], 0, 0, 1000, 0),
	      "a cell has what was in its time");
	lanes_cells(lanes, 1, BEGAN + SLICE, 3 * SLICE, 3, cells);
	check(has(&cells[0], 1600, 0, 1000, 400) && has(&cells[1], 0, 0, 3000, 0) &&
		      has(&cells[2], 0, 0, 1000, 0),
	      "a cell of several slices has their sum; after the last one there is nothing");
	lanes_cells(lanes, 3, BEGAN, SLICE, 4, cells);
	check(has(&cells[0], 0, 0, 0, 0) && has(&cells[3], 0, 0, 0, 0),
	      "of a thread that there is not, nothing is known");
	check(threads_in(lanes, 0, 7) == 2 && threads_in(lanes, 7, 8) == 6 &&
		      threads_in(lanes, 8, 9) == 0,
	      "who did anything then is visited");
	lanes_free(lanes);
}

/* as it is told while it is measured: each time up to some moment in a slice */
static void piece_by_piece(void)
{
	struct lanes *lanes = lanes_new(BEGAN, 1 << 20);
	struct lane_time cell;
	size_t bytes;

	for (uint64_t at = 0; at < 10000; at += 400)
		add(lanes, &one, LANE_BLOCKED, at, at + 400);
	bytes = lanes_bytes(lanes);
	for (uint64_t at = 10000; at < 10000000; at += 2700)
		add(lanes, &one, LANE_BLOCKED, at, at + 2700 < 10000000 ? at + 2700 : 10000000);
	check(lanes_bytes(lanes) == bytes, "slices that are alike take no more room");
	lanes_cells(lanes, 1, BEGAN, 10000 * SLICE, 1, &cell);
	check(has(&cell, 0, 0, 10000000, 0), "and none is missing");
	lanes_free(lanes);
}

/* what lanes_visit_new() has shown of a thread */
struct news {
	uint64_t us;   /* of all slices */
	uint32_t next; /* slice, from 0 on */
	bool each_once, full;
};

static int take_news(void *arg, const struct lane_thread *thread, const struct lane_piece *pieces,
		     size_t nr)
{
	struct news *news = (struct news *)arg + thread->id - 1;

	if (news->full)
		return -ENOSPC;
	for (size_t i = 0; i < nr; i++) {
		news->each_once &= pieces[i].first == news->next;
		news->next = pieces[i].first + pieces[i].nr;
		for (int state = 0; state < NR_LANE_STATES; state++)
			news->us += (uint64_t)pieces[i].nr * pieces[i].ns[state] / 1000;
	}
	return 0;
}

static void news_only(void)
{
	struct lanes *lanes = lanes_new(BEGAN, 1 << 20);
	struct news news[2] = { { .each_once = true }, { .each_once = true } };
	uint64_t slice_us = LANE_SLICE_NS / 1000;

	for (uint64_t at = 0; at < 10000; at += 400) {
		add(lanes, at % 1600 ? &one : &two, at % 2000 ? LANE_BLOCKED : LANE_RUNNING, at,
		    at + 400);
		if (at % 2400 == 0)
			check(!lanes_visit_new(lanes, take_news, news), "what is new is visited");
	}
	check(!lanes_visit_new(lanes, take_news, news) && news[0].next == 9,
	      "but not the last slice, which may get more");
	news[0].full = true;
	add(lanes, &two, LANE_BLOCKED, 60000, 61000);
	check(!lanes_visit_new(lanes, take_news, news) && news[0].next == 9,
	      "for what is refused there is another time");
	news[0].full = false;
	check(!lanes_visit_new(lanes, take_news, news) && news[0].next == 10,
	      "nor is it the last one for ever");
	check(news[0].each_once && news[0].us == 18 * slice_us * 400 / 1000,
	      "each slice is visited once, with its time");
	lanes_free(lanes);
}

static void bounded(void)
{
	struct lanes *lanes = lanes_new(BEGAN, 100000);
	struct lane_time cells[100];
	bool within = true;

	add(lanes, &two, LANE_BLOCKED, 0, 1000);
	for (uint64_t slice = 0; slice < 100000; slice++) {
		add(lanes, &one, LANE_RUNNING, 1000 * slice, 1000 * slice + slice % 2 * 500 + 100);
		within = within && lanes_bytes(lanes) <= 100000 + 100;
	}
	check(within, "it takes no more than it may");
	check(threads_in(lanes, 0, 90000) == 0 && threads_in(lanes, 99000, 100000) == 2,
	      "what is oldest goes, and threads of which nothing is left");
	lanes_cells(lanes, 1, BEGAN + 99900 * SLICE, SLICE, 100, cells);
	check(has(&cells[0], 100, 0, 0, 0) && has(&cells[99], 600, 0, 0, 0), "what is new stays");
	lanes_free(lanes);
}

int main(void)
{
	parts_of_slices();
	piece_by_piece();
	news_only();
	bounded();
	return check_done();
}
