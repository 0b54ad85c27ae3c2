// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/lanes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

const char *const lane_names[NR_LANE_STATES] = {
	[LANE_RUNNING] = "Running",
	[LANE_WAITING] = "Waiting",
	[LANE_BLOCKED] = "Blocked",
	[LANE_LOST] = "Lost",
};

struct lane {
	struct lane_thread thread;
	struct lane_piece *pieces;
	size_t nr, room;
	uint32_t seen; /* the slices before this one were, by lanes_visit_new() */
	UT_hash_handle hh;
};

struct lanes {
	uint64_t from_ns;
	struct lane *by_id;
	size_t bytes, max_bytes;
	uint32_t oldest, newest; /* slices */
	/*
	 * the lane at which lanes_visit_new() begins, because it was refused; 0: at the first one
	 */
	uint32_t refused;
};

struct lanes *lanes_new(uint64_t from_ns, size_t max_bytes)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));

	if (lanes)
		*lanes = (struct lanes){ .from_ns = from_ns, .max_bytes = max_bytes };
	return lanes;
}

static size_t bytes_of(const struct lane *lane)
{
	return sizeof(*lane) + lane->room * sizeof(lane->pieces[0]);
}

static void drop(struct lanes *lanes, struct lane *lane)
{
	lanes->bytes -= bytes_of(lane);
	HASH_DEL(lanes->by_id, lane);
	free(lane->pieces);
	free(lane);
}

void lanes_free(struct lanes *lanes)
{
	struct lane *lane, *next;

	if (!lanes)
		return;
	HASH_ITER(hh, lanes->by_id, lane, next)
		drop(lanes, lane);
	free(lanes);
}

uint64_t lanes_from(const struct lanes *lanes)
{
	return lanes->from_ns;
}

size_t lanes_bytes(const struct lanes *lanes)
{
	return lanes->bytes;
}

/* ---- the limit ---- */

/* Forgets slices of the lane, and gives their room back. */
static void forget(struct lanes *lanes, struct lane *lane, uint32_t until)
{
	struct lane_piece *fewer;
	size_t gone = 0;

	while (gone < lane->nr && lane->pieces[gone].first + lane->pieces[gone].nr <= until)
		gone++;
	lane->nr -= gone;
	memmove(lane->pieces, lane->pieces + gone, lane->nr * sizeof(lane->pieces[0]));
	if (!lane->nr) {
		drop(lanes, lane);
		return;
	}
	fewer = reallocarray(lane->pieces, lane->nr, sizeof(lane->pieces[0]));
	if (!fewer)
		return;
	lanes->bytes -= (lane->room - lane->nr) * sizeof(lane->pieces[0]);
	lane->pieces = fewer;
	lane->room = lane->nr;
}

/* A quarter of the time goes, until there is room. The newest slice stays. */
static void bound(struct lanes *lanes)
{
	struct lane *lane, *next;

	while (lanes->bytes > lanes->max_bytes && lanes->oldest < lanes->newest) {
		lanes->oldest += (lanes->newest - lanes->oldest + 3) / 4;
		HASH_ITER(hh, lanes->by_id, lane, next)
			forget(lanes, lane, lanes->oldest);
	}
}

/* ---- adding ---- */

static bool are_alike(const struct lane_piece *left, const struct lane_piece *right)
{
	return left->first + left->nr == right->first &&
	       !memcmp(left->ns, right->ns, sizeof(left->ns));
}

/*
 * Appends slices; the two pieces before them do not change any more, and become one if they are
 * alike. 0 or -ENOMEM
 */
static int append(struct lanes *lanes, struct lane *lane, struct lane_piece piece)
{
	size_t room = lane->room;

	if (lane->nr > 1 && are_alike(&lane->pieces[lane->nr - 2], &lane->pieces[lane->nr - 1])) {
		lane->pieces[lane->nr - 2].nr += lane->pieces[lane->nr - 1].nr;
		lane->nr--;
	}
	if (array_reserve(&lane->pieces, &lane->room, lane->nr + 1))
		return -ENOMEM;
	lanes->bytes += (lane->room - room) * sizeof(lane->pieces[0]);
	lane->pieces[lane->nr++] = piece;
	return 0;
}

/* Adds a time in one slice, which is the lane's last one or a new one. */
static int add_to_slice(struct lanes *lanes, struct lane *lane, uint32_t slice,
			enum lane_state state, uint32_t ns)
{
	struct lane_piece *last = lane->nr ? &lane->pieces[lane->nr - 1] : NULL;
	struct lane_piece new = { .first = slice, .nr = 1 };

	if (last && last->first + last->nr == slice + 1) {
		if (last->nr == 1) {
			last->ns[state] += ns;
			return 0;
		}
		last->nr--;
		memcpy(new.ns, last->ns, sizeof(new.ns));
	}
	new.ns[state] += ns;
	return append(lanes, lane, new);
}

static int add_slices(struct lanes *lanes, struct lane *lane, uint32_t from, uint32_t to,
		      enum lane_state state)
{
	struct lane_piece piece = { .first = from, .nr = to - from };

	piece.ns[state] = LANE_SLICE_NS;
	return from < to ? append(lanes, lane, piece) : 0;
}

static struct lane *lane_of(struct lanes *lanes, const struct lane_thread *thread)
{
	struct lane *lane;

	HASH_FIND(hh, lanes->by_id, &thread->id, sizeof(thread->id), lane);
	if (!lane) {
		lane = calloc(1, sizeof(*lane));
		if (!lane)
			return NULL;
		lane->thread.id = thread->id;
		HASH_ADD(hh, lanes->by_id, thread.id, sizeof(thread->id), lane);
		lanes->bytes += bytes_of(lane);
	}
	lane->thread = *thread;
	return lane;
}

int lanes_add(struct lanes *lanes, const struct lane_thread *thread, enum lane_state state,
	      uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > lanes->from_ns ? from_ns - lanes->from_ns : 0,
		 to = to_ns > lanes->from_ns ? to_ns - lanes->from_ns : 0;
	uint32_t first = from / LANE_SLICE_NS, last = to / LANE_SLICE_NS;
	struct lane *lane;
	int error;

	if (from >= to)
		return 0;
	lane = lane_of(lanes, thread);
	if (!lane)
		return -ENOMEM;
	if (first == last) {
		error = add_to_slice(lanes, lane, first, state, to - from);
	} else {
		error = from % LANE_SLICE_NS ? add_to_slice(lanes, lane, first, state,
							    LANE_SLICE_NS - from % LANE_SLICE_NS)
					     : 0;
		if (!error)
			error = add_slices(lanes, lane, first + (from % LANE_SLICE_NS > 0), last,
					   state);
		if (!error && to % LANE_SLICE_NS)
			error = add_to_slice(lanes, lane, last, state, to % LANE_SLICE_NS);
	}
	if (last > lanes->newest)
		lanes->newest = last;
	bound(lanes);
	return error;
}

/* ---- drawing ---- */

/* False: nothing of the lane is in the cells. */
static bool sum_up(const struct lane *lane, uint64_t from, uint64_t per_cell, size_t nr,
		   struct lane_time *cells)
{
	uint64_t to = from + per_cell * nr;
	bool any = false;

	memset(cells, 0, nr * sizeof(*cells));
	for (size_t i = lane->nr;
	     i-- > 0 && lane->pieces[i].first + (uint64_t)lane->pieces[i].nr > from;) {
		const struct lane_piece *piece = &lane->pieces[i];
		uint64_t begin = piece->first > from ? piece->first : from,
			 end = piece->first + (uint64_t)piece->nr;

		end = end < to ? end : to;
		while (begin < end) {
			size_t cell = (begin - from) / per_cell;
			uint64_t until = from + (cell + 1) * per_cell;

			until = until < end ? until : end;
			for (int state = 0; state < NR_LANE_STATES; state++)
				cells[cell].ns[state] += (until - begin) * piece->ns[state];
			begin = until;
			any = true;
		}
	}
	return any;
}

static uint64_t slice_at(const struct lanes *lanes, uint64_t ns)
{
	return (ns - lanes->from_ns) / LANE_SLICE_NS;
}

int lanes_visit(const struct lanes *lanes, uint64_t from_ns, uint64_t to_ns,
		int (*see)(void *arg, const struct lane_thread *thread,
			   const struct lane_time *time),
		void *arg)
{
	uint64_t from = slice_at(lanes, from_ns), nr = slice_at(lanes, to_ns) - from;
	struct lane_time time;
	int error = 0;

	for (const struct lane *lane = nr ? lanes->by_id : NULL; lane && !error;
	     lane = lane->hh.next)
		if (sum_up(lane, from, nr, 1, &time))
			error = see(arg, &lane->thread, &time);
	return error;
}

/*
 * the first slice of the lane that may get more: its last one, unless the thread has done nothing
 * for a second
 */
static uint32_t end_of(const struct lanes *lanes, const struct lane *lane)
{
	uint32_t end = lane->pieces[lane->nr - 1].first + lane->pieces[lane->nr - 1].nr;

	return end + 1000000000 / LANE_SLICE_NS < lanes->newest ? end : end - 1;
}

/* the lane's pieces from its `seen` up to this slice; the caller frees them. NULL: no memory */
static struct lane_piece *new_pieces(const struct lane *lane, uint32_t end, size_t *nr)
{
	struct lane_piece *pieces = calloc(lane->nr, sizeof(*pieces));

	*nr = 0;
	for (size_t i = 0; pieces && i < lane->nr; i++) {
		const struct lane_piece *piece = &lane->pieces[i];
		uint32_t from = piece->first > lane->seen ? piece->first : lane->seen,
			 to = piece->first + piece->nr;

		to = to < end ? to : end;
		if (from >= to)
			continue;
		pieces[*nr] = *piece;
		pieces[*nr].first = from;
		pieces[(*nr)++].nr = to - from;
	}
	return pieces;
}

int lanes_visit_new(struct lanes *lanes,
		    int (*see)(void *arg, const struct lane_thread *thread,
			       const struct lane_piece *pieces, size_t nr),
		    void *arg)
{
	size_t nr_lanes = HASH_COUNT(lanes->by_id);
	struct lane *lane;
	int error = 0;

	HASH_FIND(hh, lanes->by_id, &lanes->refused, sizeof(lanes->refused), lane);
	lanes->refused = 0;
	for (size_t i = 0; i < nr_lanes && !error; i++, lane = lane->hh.next) {
		struct lane_piece *pieces;
		uint32_t end;
		size_t nr;

		lane = lane ? lane : lanes->by_id;
		end = end_of(lanes, lane);
		if (end <= lane->seen)
			continue;
		pieces = new_pieces(lane, end, &nr);
		if (!pieces)
			error = -ENOMEM;
		else if (nr)
			error = see(arg, &lane->thread, pieces, nr);
		free(pieces);
		if (!error)
			lane->seen = end;
		if (error == -ENOSPC) {
			error = 0;
			lanes->refused = lanes->refused ? lanes->refused : lane->thread.id;
		}
	}
	return error;
}

void lanes_cells(const struct lanes *lanes, uint32_t id, uint64_t from_ns, uint64_t cell_ns,
		 size_t nr, struct lane_time *cells)
{
	static const struct lane none;
	const struct lane *lane;

	HASH_FIND(hh, lanes->by_id, &id, sizeof(id), lane);
	sum_up(lane ? lane : &none, slice_at(lanes, from_ns), cell_ns / LANE_SLICE_NS, nr, cells);
}
