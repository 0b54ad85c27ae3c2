// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "report/escape.h"

/* how much time a cell of the timeline stands for */
static const uint64_t cells_ns[] = { 25000000,   50000000,   100000000,  250000000,  500000000,
				     1000000000, 2500000000, 5000000000, 10000000000 };
#define NR_CELLS (sizeof(cells_ns) / sizeof(cells_ns[0]))
_Static_assert(FIRST_CELL < NR_CELLS, "cells_ns");
#define SCALE_CELLS 10 /* from one label to the next */

struct lane_row {
	struct lane_thread thread;
	struct lane_time time; /* in what is shown */
};

/* what is drawn of it: so many cells, each of which begins at a multiple of its time */
struct span {
	uint64_t from_ns, cell_ns;
	size_t nr;
};

static int columns_of_name(const struct panes *p)
{
	return p->area.columns / 3 < 28 ? p->area.columns / 3 : 28;
}

/* As far as it has been measured, the last cells that are whole; what is newer scrolls in. */
static struct span span_of(const struct panes *p)
{
	uint64_t began_ns = lanes_from(p->shown->lanes), cell_ns = cells_ns[p->timeline.cell];
	uint64_t all =
		p->shown->until_ns > began_ns ? (p->shown->until_ns - began_ns) / cell_ns : 0;
	uint64_t room = p->area.columns - columns_of_name(p), nr = all < room ? all : room;

	return (struct span){ began_ns + (all - nr) * cell_ns, cell_ns, nr };
}

static int most_active_first(const void *left, const void *right)
{
	const struct lane_row *l = left, *r = right;
	int order = order_of(r->time.ns[LANE_RUNNING], l->time.ns[LANE_RUNNING]);

	order = order ?: order_of(r->time.ns[LANE_WAITING], l->time.ns[LANE_WAITING]);
	return order ?: order_of(l->thread.id, r->thread.id);
}

struct shown_lanes {
	struct panes *panes;
	struct live_threads of;
};

static int add_lane(void *arg, const struct lane_thread *thread, const struct lane_time *time)
{
	const struct shown_lanes *threads = arg;
	struct panes *p = threads->panes;

	if (!live_threads_has(&threads->of, thread->pid, thread->tid))
		return 0;
	if (array_reserve(&p->timeline.rows, &p->timeline.room, p->timeline.nr + 1))
		return -ENOMEM;
	p->timeline.rows[p->timeline.nr++] = (struct lane_row){ *thread, *time };
	return 0;
}

static uint64_t id_of_lane(const struct panes *p, size_t row)
{
	return p->timeline.rows[row].thread.id;
}

static int prepare(struct panes *p)
{
	struct span span = span_of(p);
	struct shown_lanes threads = { .panes = p };
	int error = live_threads_find(&threads.of, p->shown);

	p->timeline.nr = 0;
	if (!error)
		error = lanes_visit(p->shown->lanes, span.from_ns,
				    span.from_ns + span.nr * span.cell_ns, add_lane, &threads);
	live_threads_free(&threads.of);
	if (p->timeline.nr)
		qsort(p->timeline.rows, p->timeline.nr, sizeof(p->timeline.rows[0]),
		      most_active_first);
	return error;
}

static size_t nr_lanes(const struct panes *p)
{
	return p->timeline.nr;
}

/* "comm (pid/tid)", escaped; NULL: no memory */
static char *name_of_lane(const struct panes *p, size_t row)
{
	const struct lane_thread *thread = &p->timeline.rows[row].thread;
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);

	if (!out)
		return NULL;
	print_escaped(out, thread->comm);
	fprintf(out, " (%" PRIu32 "/%" PRIu32 ")", thread->pid, thread->tid);
	return fclose(out) ? NULL : name;
}

static bool lane_matches(const struct panes *p, size_t row)
{
	return pane_matches(p, name_of_lane, row);
}

/*
 * What takes most of a cell is its state; but what was lost is always seen. NR_LANE_STATES: nothing
 * is known
 */
static enum lane_state state_of_cell(const struct lane_time *cell)
{
	enum lane_state most = LANE_LOST;

	for (enum lane_state state = 0; state < LANE_LOST && !cell->ns[LANE_LOST]; state++)
		if (cell->ns[state] > cell->ns[most])
			most = state;
	return cell->ns[most] ? most : NR_LANE_STATES;
}

static void draw_lane(const struct panes *p, size_t row, int line, const struct span *span,
		      struct lane_time *cells)
{
	enum terminal_style style = pane_row_style(p, row, lane_matches(p, row));
	int of_name = columns_of_name(p);
	char *name = name_of_lane(p, row);

	terminal_put(line, 0, of_name - 1, style, 0, name ? name : "");
	free(name);
	lanes_cells(p->shown->lanes, p->timeline.rows[row].thread.id, span->from_ns, span->cell_ns,
		    span->nr, cells);
	for (size_t i = 0; i < span->nr; i++) {
		enum lane_state state = state_of_cell(&cells[i]);

		if (state < NR_LANE_STATES)
			terminal_put(line, of_name + i, 1, STYLE_LANE + state, 0,
				     (char[]){ lane_names[state][0], 0 });
	}
}

/* seconds since the measurement began */
static void draw_scale(const struct panes *p, const struct span *span)
{
	uint64_t first = (span->from_ns - lanes_from(p->shown->lanes)) / span->cell_ns;
	char label[32];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "thread");
	for (size_t i = (SCALE_CELLS - first % SCALE_CELLS) % SCALE_CELLS; i < span->nr;
	     i += SCALE_CELLS) {
		snprintf(label, sizeof(label), "|%.10g s", (first + i) * span->cell_ns / 1e9);
		if (i + strlen(label) <= span->nr)
			terminal_put(p->area.line, columns_of_name(p) + i, SCALE_CELLS, STYLE_DIM,
				     0, label);
	}
}

static void draw(struct panes *p)
{
	const struct rows *r = &p->rows[TIMELINE];
	const struct span span = span_of(p);
	struct lane_time *cells = calloc(span.nr + 1, sizeof(*cells));

	draw_scale(p, &span);
	for (size_t i = r->top; cells && i < r->nr && i - r->top + 1 < (size_t)p->area.lines; i++)
		draw_lane(p, i, p->area.line + 1 + i - r->top, &span, cells);
	free(cells);
}

/* the selected thread, and the share of each state, whose letter is in cells */
static void say(const struct panes *p, char *text, size_t bytes)
{
	const struct rows *r = &p->rows[TIMELINE];
	const struct lane_time *time = &p->timeline.rows[r->selected].time;
	uint64_t all = 0;
	char *name = name_of_lane(p, r->selected);
	FILE *out = fmemopen(text, bytes, "w");

	for (enum lane_state state = 0; state < NR_LANE_STATES; state++)
		all += time->ns[state];
	if (out)
		fprintf(out, "%s:", name ? name : "");
	for (enum lane_state state = 0; out && state < NR_LANE_STATES; state++)
		if (state < LANE_LOST || time->ns[state])
			fprintf(out, "%s %.1f %% %s", state ? "," : "",
				percent_of(time->ns[state], all), lane_names[state]);
	if (out)
		fclose(out);
	free(name);
}

static void key_pressed(struct panes *p, struct terminal_key key)
{
	if (pane_move(p, key))
		return;
	if (!key.special && (key.key == '+' || key.key == '='))
		p->timeline.cell -= p->timeline.cell > 0;
	else if (!key.special && key.key == '-')
		p->timeline.cell += p->timeline.cell + 1 < NR_CELLS;
}

static bool is_empty(const struct panes *p)
{
	return !p->timeline.nr;
}

const struct pane_kind timeline_pane = {
	.key = 'i',
	.prepare = prepare,
	.is_empty = is_empty,
	.draw = draw,
	.say = say,
	.key_pressed = key_pressed,
	.nr = nr_lanes,
	.id = id_of_lane,
	.matches = lane_matches,
};
