// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <stdlib.h>

#include "base/array.h"
#include "report/labels.h"

#define OPEN_SHARE 0.05 /* of all: a branch with more is open at first */

struct tree_row {
	uint32_t node;
	unsigned level;
	bool opens, open;
};

static bool is_toggled(const struct panes *p, uint64_t id)
{
	for (size_t i = 0; i < p->tree.nr_toggled; i++)
		if (p->tree.toggled[i] == id)
			return true;
	return false;
}

static void toggle(struct panes *p, uint64_t id)
{
	for (size_t i = 0; i < p->tree.nr_toggled; i++) {
		if (p->tree.toggled[i] == id) {
			p->tree.toggled[i] = p->tree.toggled[--p->tree.nr_toggled];
			return;
		}
	}
	if (!array_reserve(&p->tree.toggled, &p->tree.toggled_room, p->tree.nr_toggled + 1))
		p->tree.toggled[p->tree.nr_toggled++] = id;
}

static bool is_open(const struct panes *p, uint32_t node)
{
	return !node || (pane_share(p, node) >= OPEN_SHARE) != is_toggled(p, p->picture.ids[node]);
}

static int add_callees(struct panes *p, uint32_t caller, unsigned level)
{
	const struct picture *picture = &p->picture;
	uint32_t from = picture->first[caller], to = picture->first[caller + 1];
	int error = 0;

	for (uint32_t i = from; i < to && !error; i++) {
		uint32_t node = picture->sorted[i];
		bool opens = picture->first[node] < picture->first[node + 1],
		     open = opens && is_open(p, node);
		unsigned below = level + (picture->first[node] + 1 < picture->first[node + 1]);

		error = array_reserve(&p->tree.rows, &p->tree.room, p->tree.nr + 1);
		if (error)
			break;
		p->tree.rows[p->tree.nr++] = (struct tree_row){ node, level, opens, open };
		if (open)
			error = add_callees(p, node, below);
	}
	return error;
}

static uint64_t id_of_row(const struct panes *p, size_t row)
{
	return p->picture.ids[p->tree.rows[row].node];
}

static int prepare(struct panes *p)
{
	int error = pane_need_tree(p);

	p->tree.nr = 0;
	return error ? error : add_callees(p, 0, 0);
}

static size_t nr_rows(const struct panes *p)
{
	return p->tree.nr;
}

static void draw(struct panes *p)
{
	const struct rows *r = &p->rows[TREE];
	char text[MAX_LABEL_BYTES + 128];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "total %  self %");
	for (size_t i = r->top; i < r->nr && i - r->top + 1 < (size_t)p->area.lines; i++) {
		const struct tree_row *row = &p->tree.rows[i];
		int indent = 2 * row->level;

		if (indent > p->area.columns / 2)
			indent = p->area.columns / 2;
		snprintf(text, sizeof(text), "%7.1f %7.1f  %*s%c %s",
			 100 * pane_share(p, row->node),
			 pane_all(p) ? 100 * p->picture.tree.nodes[row->node].self[FLAME_NOW] /
					       pane_all(p)
				     : 0,
			 indent, "",
			 !row->opens ? ' '
			 : row->open ? '-'
				     : '+',
			 picture_name(&p->picture, row->node));
		terminal_put(p->area.line + 1 + i - r->top, 0, p->area.columns,
			     pane_row_style(p, i, picture_matches(&p->picture, row->node)), 0,
			     text);
	}
}

static void toggle_row(struct panes *p, bool open, bool always)
{
	const struct rows *r = &p->rows[TREE];
	const struct tree_row *row = r->selected < r->nr ? &p->tree.rows[r->selected] : NULL;

	if (row && row->opens && (always || row->open != open))
		toggle(p, p->picture.ids[row->node]);
}

/* the row of the selected node's caller */
static void select_caller(struct panes *p)
{
	const struct rows *r = &p->rows[TREE];
	uint32_t caller;

	if (r->selected >= r->nr)
		return;
	caller = p->picture.tree.nodes[p->tree.rows[r->selected].node].parent;
	for (size_t i = r->selected; i-- > 0;) {
		if (p->tree.rows[i].node == caller) {
			pane_select_row(p, i);
			return;
		}
	}
}

static void key_pressed(struct panes *p, struct terminal_key key)
{
	struct rows *r = &p->rows[TREE];
	bool open = r->selected < r->nr && p->tree.rows[r->selected].open;

	if (pane_move(p, key))
		return;
	if (r->selected < r->nr)
		r->id = id_of_row(p, r->selected);
	if (pane_is_enter(key))
		toggle_row(p, false, true);
	else if (key.special && key.key == KEY_RIGHT)
		toggle_row(p, true, false);
	else if (key.special && key.key == KEY_LEFT && open)
		toggle_row(p, false, false);
	else if (key.special && (key.key == KEY_LEFT || key.key == KEY_BACKSPACE))
		select_caller(p);
}

/* the node after this one, callers before their callees; 0, the root, after the last one */
static uint32_t node_after(const struct picture *picture, uint32_t node)
{
	if (picture->first[node] < picture->first[node + 1])
		return picture->sorted[picture->first[node]];
	while (node) {
		uint32_t caller = picture->tree.nodes[node].parent;

		for (uint32_t i = picture->first[caller]; i + 1 < picture->first[caller + 1]; i++)
			if (picture->sorted[i] == node)
				return picture->sorted[i + 1];
		node = caller;
	}
	return 0;
}

/* the next match, or the previous one, after this node; the node itself: there is no other one */
static uint32_t next_matching_node(const struct panes *p, uint32_t from, int direction)
{
	uint32_t last = from;

	for (uint32_t node = node_after(&p->picture, from); node != from;
	     node = node_after(&p->picture, node)) {
		if (!picture_matches(&p->picture, node))
			continue;
		if (direction > 0)
			return node;
		last = node;
	}
	return last;
}

static void open_callers(struct panes *p, uint32_t node)
{
	for (uint32_t at = p->picture.tree.nodes[node].parent; at;
	     at = p->picture.tree.nodes[at].parent)
		if (!is_open(p, at))
			toggle(p, p->picture.ids[at]);
}

static void next_match(struct panes *p, int direction)
{
	struct rows *r = &p->rows[TREE];
	uint32_t node =
		next_matching_node(p, r->selected < r->nr ? p->tree.rows[r->selected].node : 0,
				   direction);

	if (!node)
		return;
	open_callers(p, node);
	r->id = p->picture.ids[node];
}

const struct pane_kind tree_pane = {
	.key = 't',
	.prepare = prepare,
	.draw = draw,
	.key_pressed = key_pressed,
	.next_match = next_match,
	.nr = nr_rows,
	.id = id_of_row,
};
