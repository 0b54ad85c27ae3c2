// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/flame_layout.h"

struct cell {
	uint32_t node, nr; /* as in struct flame_box */
	uint32_t depth;
	int from, to; /* columns */
};

static uint64_t id_of_cell(const struct panes *p, const struct cell *cell)
{
	return p->picture.ids[cell->node] + (cell->nr > 1);
}

/* the node that is as wide as the terminal; 0: the root */
static uint32_t zoom_of(const struct panes *p)
{
	uint32_t node = 0;

	for (size_t i = p->flame.nr_zooms; i-- > 0 && !node;)
		node = picture_find(&p->picture, p->flame.zooms[i]);
	return node;
}

static int by_place(const void *left, const void *right)
{
	const struct cell *l = left, *r = right;

	return order_of(l->depth, r->depth) ?: order_of(l->from, r->from);
}

static void add_cell(struct panes *p, struct cell cell)
{
	if (cell.to > cell.from)
		p->flame.cells[p->flame.nr_cells++] = cell;
}

/* The callers of what is zoomed into are as wide as it. */
static void add_callers(struct panes *p, uint32_t node, uint32_t depth)
{
	while (node) {
		node = p->picture.tree.nodes[node].parent;
		add_cell(p, (struct cell){ node, 1, --depth, 0, p->area.columns });
	}
}

static void lay_out(struct panes *p)
{
	uint32_t zoom = zoom_of(p);
	double columns = p->area.columns, wide = pane_share(p, zoom);
	struct flame_box *boxes, *zoomed = NULL;
	size_t nr;

	p->flame.nr_cells = 0;
	boxes = flame_layout(&p->picture.tree, zoom ? wide / columns / 2 : 0.5 / columns, &nr);
	for (size_t i = 0; boxes && i < nr && !zoomed; i++)
		if (boxes[i].node == zoom && boxes[i].nr == 1)
			zoomed = &boxes[i];
	free(p->flame.cells);
	p->flame.cells = zoomed ? calloc(nr + FLAME_MAX_DEPTH + 1, sizeof(*p->flame.cells)) : NULL;
	if (!p->flame.cells) {
		free(boxes);
		return;
	}
	add_callers(p, zoom, zoomed->depth);
	for (size_t i = 0; i < nr; i++) {
		const struct flame_box *box = &boxes[i];
		double from = (box->x - zoomed->x) / zoomed->width,
		       to = from + box->width / zoomed->width;

		if (box->depth >= zoomed->depth && from > -1e-9 && to < 1 + 1e-9)
			add_cell(p, (struct cell){ box->node, box->nr, box->depth,
						   lround(from * columns), lround(to * columns) });
	}
	qsort(p->flame.cells, p->flame.nr_cells, sizeof(*p->flame.cells), by_place);
	free(boxes);
}

/* the selected cell; NULL: there is none */
static const struct cell *selected_cell(const struct panes *p)
{
	const struct cell *of_zoom = NULL;
	uint32_t zoom = p->flame.nr_cells ? zoom_of(p) : 0;

	for (size_t i = 0; i < p->flame.nr_cells; i++) {
		if (p->flame.selected && id_of_cell(p, &p->flame.cells[i]) == p->flame.selected)
			return &p->flame.cells[i];
		if (p->flame.cells[i].node == zoom && p->flame.cells[i].nr == 1)
			of_zoom = &p->flame.cells[i];
	}
	return of_zoom;
}

static void draw_cell(struct panes *p, const struct cell *cell, int shade, bool selected)
{
	int line = p->area.line + cell->depth - p->flame.top, from = cell->from,
	    columns = cell->to - cell->from;
	enum terminal_style style =
		STYLE_FRAME +
		(cell->nr > 1 ? KIND_LEFT_OUT : picture_kind(&p->picture, cell->node));
	char many[32];
	const char *name = picture_name(&p->picture, cell->node);

	if (cell->nr > 1) {
		snprintf(many, sizeof(many), "%" PRIu32 " functions", cell->nr);
		name = many;
	} else if (picture_matches(&p->picture, cell->node)) {
		style = STYLE_MATCH;
	}
	if (!terminal_has_shades() && from) {
		terminal_put(line, from++, 1, STYLE_PLAIN, 0, "|");
		columns--;
	}
	terminal_put(line, from, columns, selected ? STYLE_SELECTED : style, shade,
		     columns > 2 ? name : "");
}

static void draw(struct panes *p)
{
	const struct cell *selected;
	uint32_t lines = p->area.lines;
	int shade = 0;

	selected = selected_cell(p);
	if (selected && selected->depth < p->flame.top)
		p->flame.top = selected->depth;
	if (selected && selected->depth >= p->flame.top + lines)
		p->flame.top = selected->depth - lines + 1;
	for (size_t i = 0; i < p->flame.nr_cells; i++) {
		const struct cell *cell = &p->flame.cells[i];

		shade = i && p->flame.cells[i - 1].depth == cell->depth ? !shade
									: (int)(cell->depth & 1);
		if (cell->depth >= p->flame.top && cell->depth < p->flame.top + lines)
			draw_cell(p, cell, shade, cell == selected);
	}
}

static void select_cell(struct panes *p, const struct cell *cell)
{
	if (cell)
		p->flame.selected = id_of_cell(p, cell);
}

/*
 * the cell of this depth that is next to a column: in it, before it or after it; NULL: there is
 * none
 */
static const struct cell *cell_at(const struct panes *p, uint32_t depth, int from, int to)
{
	for (size_t i = 0; i < p->flame.nr_cells; i++)
		if (p->flame.cells[i].depth == depth && p->flame.cells[i].from < to &&
		    p->flame.cells[i].to > from)
			return &p->flame.cells[i];
	return NULL;
}

static void zoom_in(struct panes *p, const struct cell *cell)
{
	size_t nr = 0;

	if (!cell || cell->nr > 1)
		return;
	/* zooms into what is within this frame are left */
	for (size_t i = 0; i < p->flame.nr_zooms; i++) {
		uint32_t zoom = picture_find(&p->picture, p->flame.zooms[i]), at = cell->node;

		while (at && at != zoom)
			at = p->picture.tree.nodes[at].parent;
		if (zoom && at == zoom && zoom != cell->node)
			p->flame.zooms[nr++] = p->flame.zooms[i];
	}
	p->flame.nr_zooms = nr;
	p->flame.nr_cells = 0;
	if (cell->node && p->flame.nr_zooms < MAX_ZOOMS)
		p->flame.zooms[p->flame.nr_zooms++] = p->picture.ids[cell->node];
	p->flame.selected = p->picture.ids[cell->node];
	if (!cell->node)
		p->flame.top = 0;
	else if (p->flame.top + 1 < cell->depth)
		p->flame.top = cell->depth - 1;
}

static void zoom_out(struct panes *p)
{
	if (p->flame.nr_zooms)
		p->flame.nr_zooms--;
	p->flame.nr_cells = 0;
	p->flame.top = 0;
}

static void key_pressed(struct panes *p, struct terminal_key key)
{
	const struct cell *at = selected_cell(p);

	if (!at)
		return;
	if (!key.special) {
		if (pane_is_enter(key))
			zoom_in(p, at);
		else if (pane_is_back(key))
			zoom_out(p);
		return;
	}
	switch (key.key) {
	case KEY_UP:
		if (at->depth)
			select_cell(p, cell_at(p, at->depth - 1, at->from, at->to));
		break;
	case KEY_DOWN:
		select_cell(p, cell_at(p, at->depth + 1, at->from, at->to));
		break;
	case KEY_LEFT:
		if (at > p->flame.cells && at[-1].depth == at->depth)
			select_cell(p, at - 1);
		break;
	case KEY_RIGHT:
		if (at + 1 < p->flame.cells + p->flame.nr_cells && at[1].depth == at->depth)
			select_cell(p, at + 1);
		break;
	case KEY_HOME:
		select_cell(p, p->flame.cells);
		break;
	case KEY_END:
		select_cell(p, p->flame.cells + p->flame.nr_cells - 1);
		break;
	case KEY_NPAGE:
		for (int i = 0; i < p->area.lines && at; i++) {
			select_cell(p, at);
			at = cell_at(p, at->depth + 1, at->from, at->to);
		}
		break;
	case KEY_PPAGE:
		for (int i = 0; i < p->area.lines && at; i++) {
			select_cell(p, at);
			at = at->depth ? cell_at(p, at->depth - 1, at->from, at->to) : NULL;
		}
		break;
	case KEY_BACKSPACE:
		zoom_out(p);
		break;
	default:
		break;
	}
}

static void next_match(struct panes *p, int direction)
{
	const struct cell *at = selected_cell(p);
	size_t from = at ? at - p->flame.cells : 0;

	for (size_t i = 1; i <= p->flame.nr_cells; i++) {
		const struct cell *cell =
			&p->flame.cells[(direction > 0 ? from + i : from + p->flame.nr_cells - i) %
					p->flame.nr_cells];

		if (cell->nr == 1 && picture_matches(&p->picture, cell->node)) {
			select_cell(p, cell);
			return;
		}
	}
}

static void click(struct panes *p, int line, int column)
{
	const struct cell *cell =
		cell_at(p, line - p->area.line + p->flame.top, column, column + 1);

	if (cell && p->flame.selected == id_of_cell(p, cell))
		zoom_in(p, cell);
	else
		select_cell(p, cell);
}

static int prepare(struct panes *p)
{
	int error = pane_need_tree(p);

	if (!error && !p->flame.nr_cells && p->area.columns)
		lay_out(p);
	return error;
}

static void say(const struct panes *p, char *text, size_t bytes)
{
	const struct cell *cell = selected_cell(p);
	size_t at = pane_say_matching(p, text, bytes);

	if (!cell)
		return;
	if (cell->nr > 1) {
		snprintf(text, bytes, "%" PRIu32 " functions, each too narrow", cell->nr);
		return;
	}
	snprintf(text + at, bytes - at, "%.1f %%, %s: %s", 100 * pane_share(p, cell->node),
		 measure_say(p->shown->summary.measure,
			     llround(p->picture.totals[cell->node][FLAME_NOW]))
			 .text,
		 picture_name(&p->picture, cell->node));
}

const struct pane_kind flame_pane = {
	.key = 'f',
	.prepare = prepare,
	.draw = draw,
	.say = say,
	.key_pressed = key_pressed,
	.next_match = next_match,
	.click = click,
};
