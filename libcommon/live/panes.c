// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "live/lanes.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/flame_layout.h"
#include "report/stack_filter.h"

enum pane { FLAME, TREE, STACKS, FUNCTIONS, PROCESSES, TIMELINE, CALLS, NR_PANES };
static const char pane_keys[] = "ftluPi";	/* CALLS is opened from FUNCTIONS, or from itself */

#define MAX_ZOOMS 64
/* how much time a cell of the timeline stands for */
static const uint64_t cells_ns[] = { 25000000, 50000000, 100000000, 250000000, 500000000, 1000000000, 2500000000, 5000000000, 10000000000 };
#define NR_CELLS (sizeof(cells_ns) / sizeof(cells_ns[0]))
#define FIRST_CELL 2
#define SCALE_CELLS 10		/* from one label to the next */
#define OPEN_SHARE 0.05		/* of all: a branch with more is open at first */

/* a list of rows: which one is selected, and which one is shown first */
struct rows {
	uint64_t id;		/* of the selected one; 0: the row stays, whatever is in it */
	size_t selected, top, nr;
};

struct cell {
	uint32_t node, nr;	/* as in struct flame_box */
	uint32_t depth;
	int from, to;		/* columns */
};

struct tree_row {
	uint32_t node;
	unsigned level;
	bool opens, open;
};

struct process_row {
	const struct stack_entry *entry;	/* one of its stacks */
	uint64_t value;
};

struct lane_row {
	struct lane_thread thread;
	struct lane_time time;	/* in what is shown */
};

struct panes {
	enum pane pane;
	const struct live_shown *shown;
	struct picture picture;
	bool matched;		/* picture_match() has been called */
	bool has_pattern;
	regex_t pattern;
	struct pane_area area;	/* the last one */
	/* the flame graph */
	uint64_t zooms[MAX_ZOOMS], in_flame;
	size_t nr_zooms;
	uint32_t flame_top;
	struct cell *cells;	/* by depth and column */
	size_t nr_cells;
	/* the tree */
	struct tree_row *tree_rows;
	size_t tree_room;
	uint64_t *toggled;
	size_t nr_toggled, toggled_room;
	struct rows rows[NR_PANES];	/* not of FLAME */
	uint64_t open_stack;	/* 0: the list of stacks is shown */
	size_t stack_top;
	/* calls: */
	uint64_t opened[MAX_ZOOMS];	/* functions whose callers and callees are shown, the last one's now */
	size_t nr_opened;
	struct function_call *calls;	/* NULL: not listed yet */
	size_t nr_calls;
	uint32_t function;	/* whose calls these are */
	/* the processes */
	struct process_row *process_rows;
	size_t process_room;
	size_t nr_processes;	/* 0: not listed yet */
	uint64_t process_sum;	/* of all rows */
	uint32_t process;	/* that Enter was pressed on; 0: none */
	/* the timeline */
	struct lane_row *lane_rows;
	size_t lane_room;
	unsigned cell;		/* of cells_ns */
};

struct panes *panes_new(void)
{
	struct panes *p = calloc(1, sizeof(*p));

	if (p)
		p->cell = FIRST_CELL;
	return p;
}

void panes_free(struct panes *p)
{
	if (!p)
		return;
	picture_free(&p->picture);
	if (p->has_pattern)
		regfree(&p->pattern);
	free(p->cells);
	free(p->tree_rows);
	free(p->toggled);
	free(p->calls);
	free(p->process_rows);
	free(p->lane_rows);
	free(p);
}

static void forget_calls(struct panes *p)
{
	free(p->calls);
	p->calls = NULL;
}

void panes_show(struct panes *p, const struct live_shown *shown)
{
	picture_free(&p->picture);
	p->shown = shown;
	p->matched = false;
	p->nr_cells = 0;
	p->nr_processes = 0;
	forget_calls(p);
}

static double all_of(const struct panes *p)
{
	return p->picture.totals[0][FLAME_NOW];
}

static double share_of(const struct panes *p, uint32_t node)
{
	return all_of(p) ? p->picture.totals[node][FLAME_NOW] / all_of(p) : 0;
}

/* ---- rows ---- */

static void select_row(struct rows *r, size_t row)
{
	r->selected = r->nr && row >= r->nr ? r->nr - 1 : row;
	r->id = 0;		/* settle() gives it one */
}

/* What is selected is selected again, where it is now. */
static void settle(struct panes *p, struct rows *r, size_t nr, uint64_t (*id_of)(const struct panes *p, size_t row))
{
	r->nr = nr;
	for (size_t i = 0; r->id && i < nr; i++) {
		if (id_of(p, i) == r->id) {
			r->selected = i;
			return;
		}
	}
	if (r->selected >= nr)
		r->selected = nr ? nr - 1 : 0;
	if (!r->id && r->selected)	/* the first row stays the first */
		r->id = id_of(p, r->selected);
}

/* Makes the selected row visible. */
static void keep_in_sight(struct rows *r, size_t lines)
{
	if (r->selected < r->top)
		r->top = r->selected;
	if (lines && r->selected >= r->top + lines)
		r->top = r->selected - lines + 1;
	if (r->top + lines > r->nr)
		r->top = r->nr > lines ? r->nr - lines : 0;
}

static bool is_back(struct terminal_key key)
{
	return key.special ? key.key == KEY_BACKSPACE : key.key == 127 || key.key == 8;
}

/* False: it is none of the keys that move in rows. */
static bool move_in_rows(struct rows *r, struct terminal_key key, size_t lines)
{
	size_t to = r->selected;

	if (!key.special)
		return false;
	switch (key.key) {
	case KEY_UP:
		to -= to > 0;
		break;
	case KEY_DOWN:
		to++;
		break;
	case KEY_PPAGE:
		to -= to < lines ? to : lines;
		break;
	case KEY_NPAGE:
		to += lines;
		break;
	case KEY_HOME:
		to = 0;
		break;
	case KEY_END:
		to = SIZE_MAX;
		break;
	default:
		return false;
	}
	select_row(r, to);
	return true;
}

/* name_of: the row's name, malloc()ed, or NULL without memory */
static bool matches(const struct panes *p, char *(*name_of)(const struct panes *p, size_t row), size_t row)
{
	char *name = p->has_pattern ? name_of(p, row) : NULL;
	bool found = name && !regexec(&p->pattern, name, 0, NULL, 0);

	free(name);
	return found;
}

/* Draws the rows of the pane below a line that says what they are. */
static void draw_rows(const struct panes *p, const char *head, void (*draw_row)(const struct panes *p, size_t row, int line))
{
	const struct rows *r = &p->rows[p->pane];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, head);
	for (size_t i = r->top; i < r->nr && i - r->top + 1 < (size_t)p->area.lines; i++)
		draw_row(p, i, p->area.line + 1 + i - r->top);
}

/* ---- the tree ---- */

static bool is_toggled(const struct panes *p, uint64_t id)
{
	for (size_t i = 0; i < p->nr_toggled; i++)
		if (p->toggled[i] == id)
			return true;
	return false;
}

static void toggle(struct panes *p, uint64_t id)
{
	for (size_t i = 0; i < p->nr_toggled; i++) {
		if (p->toggled[i] == id) {
			p->toggled[i] = p->toggled[--p->nr_toggled];
			return;
		}
	}
	if (!array_reserve(&p->toggled, &p->toggled_room, p->nr_toggled + 1))
		p->toggled[p->nr_toggled++] = id;
}

static bool is_open(const struct panes *p, uint32_t node)
{
	return !node || (share_of(p, node) >= OPEN_SHARE) != is_toggled(p, p->picture.ids[node]);
}

static int add_callees(struct panes *p, uint32_t caller, unsigned level, size_t *nr)
{
	const struct picture *picture = &p->picture;
	uint32_t from = picture->first[caller], to = picture->first[caller + 1];
	int error = 0;

	for (uint32_t i = from; i < to && !error; i++) {
		uint32_t node = picture->sorted[i];
		bool opens = picture->first[node] < picture->first[node + 1], open = opens && is_open(p, node);
		unsigned below = level + (picture->first[node] + 1 < picture->first[node + 1]);

		error = array_reserve(&p->tree_rows, &p->tree_room, *nr + 1);
		if (error)
			break;
		p->tree_rows[(*nr)++] = (struct tree_row){ node, level, opens, open };
		if (open)
			error = add_callees(p, node, below, nr);
	}
	return error;
}

static uint64_t id_of_tree_row(const struct panes *p, size_t row)
{
	return p->picture.ids[p->tree_rows[row].node];
}

static int list_tree(struct panes *p)
{
	size_t nr = 0;
	int error = add_callees(p, 0, 0, &nr);

	settle(p, &p->rows[TREE], nr, id_of_tree_row);
	return error;
}

static enum terminal_style style_of_row(const struct rows *r, size_t row, bool matches)
{
	if (row == r->selected)
		return STYLE_SELECTED;
	return matches ? STYLE_MATCH : STYLE_PLAIN;
}

static void draw_tree(struct panes *p)
{
	const struct rows *r = &p->rows[TREE];
	char text[MAX_LABEL_BYTES + 128];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "total %  self %");
	for (size_t i = r->top; i < r->nr && i - r->top + 1 < (size_t)p->area.lines; i++) {
		const struct tree_row *row = &p->tree_rows[i];
		int indent = 2 * row->level;

		if (indent > p->area.columns / 2)
			indent = p->area.columns / 2;
		snprintf(text, sizeof(text), "%7.1f %7.1f  %*s%c %s", 100 * share_of(p, row->node),
			 all_of(p) ? 100 * p->picture.tree.nodes[row->node].self[FLAME_NOW] / all_of(p) : 0, indent, "",
			 !row->opens ? ' ' : row->open ? '-' : '+', picture_name(&p->picture, row->node));
		terminal_put(p->area.line + 1 + i - r->top, 0, p->area.columns,
			     style_of_row(r, i, picture_matches(&p->picture, row->node)), 0, text);
	}
}

static void toggle_row(struct panes *p, bool open, bool always)
{
	const struct rows *r = &p->rows[TREE];
	const struct tree_row *row = r->selected < r->nr ? &p->tree_rows[r->selected] : NULL;

	if (row && row->opens && (always || row->open != open))
		toggle(p, p->picture.ids[row->node]);
}

/* the row of the selected node's caller */
static void select_caller(struct panes *p)
{
	struct rows *r = &p->rows[TREE];
	uint32_t caller;

	if (r->selected >= r->nr)
		return;
	caller = p->picture.tree.nodes[p->tree_rows[r->selected].node].parent;
	for (size_t i = r->selected; i-- > 0;) {
		if (p->tree_rows[i].node == caller) {
			select_row(r, i);
			return;
		}
	}
}

static void key_in_tree(struct panes *p, struct terminal_key key)
{
	struct rows *r = &p->rows[TREE];
	bool open = r->selected < r->nr && p->tree_rows[r->selected].open;

	if (r->selected < r->nr)
		r->id = id_of_tree_row(p, r->selected);
	if (key.key == '\r')
		toggle_row(p, false, true);
	else if (key.special && key.key == KEY_RIGHT)
		toggle_row(p, true, false);
	else if ((key.special && key.key == KEY_LEFT && open))
		toggle_row(p, false, false);
	else if (key.special && (key.key == KEY_LEFT || key.key == KEY_BACKSPACE))
		select_caller(p);
}

/* ---- the flame graph ---- */

static uint64_t id_of_cell(const struct panes *p, const struct cell *cell)
{
	return p->picture.ids[cell->node] + (cell->nr > 1);
}

/* the node that is as wide as the terminal; 0: the root */
static uint32_t zoom_of(const struct panes *p)
{
	uint32_t node = 0;

	for (size_t i = p->nr_zooms; i-- > 0 && !node;)
		node = picture_find(&p->picture, p->zooms[i]);
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
		p->cells[p->nr_cells++] = cell;
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
	double columns = p->area.columns, wide = share_of(p, zoom);
	struct flame_box *boxes, *zoomed = NULL;
	size_t nr;

	p->nr_cells = 0;
	boxes = flame_layout(&p->picture.tree, zoom ? wide / columns / 2 : 0.5 / columns, &nr);
	for (size_t i = 0; boxes && i < nr && !zoomed; i++)
		if (boxes[i].node == zoom && boxes[i].nr == 1)
			zoomed = &boxes[i];
	free(p->cells);
	p->cells = zoomed ? calloc(nr + FLAME_MAX_DEPTH + 1, sizeof(*p->cells)) : NULL;
	if (!p->cells) {
		free(boxes);
		return;
	}
	add_callers(p, zoom, zoomed->depth);
	for (size_t i = 0; i < nr; i++) {
		const struct flame_box *box = &boxes[i];
		double from = (box->x - zoomed->x) / zoomed->width, to = from + box->width / zoomed->width;

		if (box->depth >= zoomed->depth && from > -1e-9 && to < 1 + 1e-9)
			add_cell(p, (struct cell){ box->node, box->nr, box->depth, lround(from * columns), lround(to * columns) });
	}
	qsort(p->cells, p->nr_cells, sizeof(*p->cells), by_place);
	free(boxes);
}

/* the selected cell; NULL: there is none */
static const struct cell *selected_cell(const struct panes *p)
{
	const struct cell *of_zoom = NULL;
	uint32_t zoom = p->nr_cells ? zoom_of(p) : 0;

	for (size_t i = 0; i < p->nr_cells; i++) {
		if (p->in_flame && id_of_cell(p, &p->cells[i]) == p->in_flame)
			return &p->cells[i];
		if (p->cells[i].node == zoom && p->cells[i].nr == 1)
			of_zoom = &p->cells[i];
	}
	return of_zoom;
}

static void draw_cell(struct panes *p, const struct cell *cell, int shade, bool selected)
{
	int line = p->area.line + cell->depth - p->flame_top, from = cell->from, columns = cell->to - cell->from;
	enum terminal_style style = STYLE_FRAME + (cell->nr > 1 ? KIND_LEFT_OUT : picture_kind(&p->picture, cell->node));
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
	terminal_put(line, from, columns, selected ? STYLE_SELECTED : style, shade, columns > 2 ? name : "");
}

static void draw_flame(struct panes *p)
{
	const struct cell *selected;
	uint32_t lines = p->area.lines;
	int shade = 0;

	lay_out(p);
	selected = selected_cell(p);
	if (selected && selected->depth < p->flame_top)
		p->flame_top = selected->depth;
	if (selected && selected->depth >= p->flame_top + lines)
		p->flame_top = selected->depth - lines + 1;
	for (size_t i = 0; i < p->nr_cells; i++) {
		const struct cell *cell = &p->cells[i];

		shade = i && p->cells[i - 1].depth == cell->depth ? !shade : (int)(cell->depth & 1);
		if (cell->depth >= p->flame_top && cell->depth < p->flame_top + lines)
			draw_cell(p, cell, shade, cell == selected);
	}
}

static void select_cell(struct panes *p, const struct cell *cell)
{
	if (cell)
		p->in_flame = id_of_cell(p, cell);
}

/* the cell of this depth that is next to a column: in it, before it or after it; NULL: there is none */
static const struct cell *cell_at(const struct panes *p, uint32_t depth, int from, int to)
{
	for (size_t i = 0; i < p->nr_cells; i++)
		if (p->cells[i].depth == depth && p->cells[i].from < to && p->cells[i].to > from)
			return &p->cells[i];
	return NULL;
}

static void zoom_in(struct panes *p, const struct cell *cell)
{
	size_t nr = 0;

	if (!cell || cell->nr > 1)
		return;
	/* zooms into what is within this frame are left */
	for (size_t i = 0; i < p->nr_zooms; i++) {
		uint32_t zoom = picture_find(&p->picture, p->zooms[i]), at = cell->node;

		while (at && at != zoom)
			at = p->picture.tree.nodes[at].parent;
		if (zoom && at == zoom && zoom != cell->node)
			p->zooms[nr++] = p->zooms[i];
	}
	p->nr_zooms = nr;
	if (cell->node && p->nr_zooms < MAX_ZOOMS)
		p->zooms[p->nr_zooms++] = p->picture.ids[cell->node];
	p->in_flame = p->picture.ids[cell->node];
	if (!cell->node)
		p->flame_top = 0;
	else if (p->flame_top + 1 < cell->depth)
		p->flame_top = cell->depth - 1;
}

static void zoom_out(struct panes *p)
{
	if (p->nr_zooms)
		p->nr_zooms--;
	p->flame_top = 0;
}

static void key_in_flame(struct panes *p, struct terminal_key key)
{
	const struct cell *at = selected_cell(p);

	if (!at)
		return;
	if (!key.special) {
		if (key.key == '\r')
			zoom_in(p, at);
		else if (key.key == 127 || key.key == 8)
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
		if (at > p->cells && at[-1].depth == at->depth)
			select_cell(p, at - 1);
		break;
	case KEY_RIGHT:
		if (at + 1 < p->cells + p->nr_cells && at[1].depth == at->depth)
			select_cell(p, at + 1);
		break;
	case KEY_HOME:
		select_cell(p, p->cells);
		break;
	case KEY_END:
		select_cell(p, p->cells + p->nr_cells - 1);
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

/* ---- the list of stacks ---- */

static uint64_t id_of_text(const struct panes *p, size_t row)
{
	return picture_text_id(&p->picture, merged_texts_get(p->picture.texts, row));
}

static bool stack_matches(const struct panes *p, size_t row)
{
	return picture_text_matches(&p->picture, merged_texts_get(p->picture.texts, row));
}

static const char *line_of(const struct panes *p, uint32_t line)
{
	return stack_functions_text(p->picture.functions.lines, line);
}

/* the thread, without what is before it in text */
static const char *thread_of(const struct panes *p, const struct merged_text *text)
{
	const char *line = line_of(p, text->pieces[text->nr - 1]);

	return strncmp(line, THREAD_LINE, strlen(THREAD_LINE)) ? line : line + strlen(THREAD_LINE);
}

/* "LEAF < CALLER < ...", as far as it fits; of a wait without the scheduler's functions */
static char *callers_in_line(const struct panes *p, const struct merged_text *text)
{
	char *line = NULL;
	size_t bytes, leaf, room = p->area.columns * 4, first = stack_functions_first(&p->picture.functions, text->pieces, text->nr);
	FILE *out = open_memstream(&line, &bytes);

	if (!out)
		return NULL;
	leaf = stack_functions_leaf(&p->picture.functions, text->pieces + first, text->nr - 1 - first);
	if (leaf < text->nr - 1 - first)
		first += leaf;
	for (size_t i = first; i + 1 < text->nr && ftell(out) < (long)room; i++)
		fprintf(out, "%s%s", i > first ? " < " : "", line_of(p, text->pieces[i]));
	return fclose(out) ? NULL : line;
}

static void draw_stack_row(const struct panes *p, size_t row, int line)
{
	const struct merged_text *text = merged_texts_get(p->picture.texts, row);
	const struct rows *r = &p->rows[STACKS];
	enum terminal_style style = style_of_row(r, row, stack_matches(p, row));
	int columns = p->area.columns, thread = columns / 4 < 24 ? columns / 4 : 24;
	char *callers = callers_in_line(p, text);
	char head[48];

	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  ", percent_of(text->value, p->picture.sum),
		 measure_in_text(p->shown->summary.measure, text->value));
	terminal_put(line, 0, columns, style, 0, head);
	terminal_put(line, 21, thread, style, 0, thread_of(p, text));
	terminal_put(line, 21 + thread, 2, style, 0, "");
	terminal_put(line, 23 + thread, columns - 23 - thread, style, 0, callers ? callers : "");
	free(callers);
}

static const struct merged_text *opened_stack(const struct panes *p)
{
	for (size_t i = 0; p->open_stack && i < p->picture.nr_texts; i++)
		if (id_of_text(p, i) == p->open_stack)
			return merged_texts_get(p->picture.texts, i);
	return NULL;
}

static void draw_opened_stack(struct panes *p)
{
	const struct merged_text *text = opened_stack(p);
	char head[512];

	if (!text) {
		terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "(this stack did not occur in this time)");
		return;
	}
	snprintf(head, sizeof(head), "%s, %.1f %% of all", measure_say(p->shown->summary.measure, text->value).text,
		 percent_of(text->value, p->picture.sum));
	terminal_put(p->area.line, 0, p->area.columns, STYLE_HEAD, 0, head);
	if (p->stack_top >= text->nr)
		p->stack_top = text->nr - 1;
	for (uint32_t i = p->stack_top; i < text->nr && i - p->stack_top + 1 < (uint32_t)p->area.lines; i++)
		terminal_put(p->area.line + 1 + i - p->stack_top, 2, p->area.columns - 2,
			     p->picture.lines && p->picture.lines[text->pieces[i]] ? STYLE_MATCH : STYLE_PLAIN, 0,
			     line_of(p, text->pieces[i]));
}

static void draw_stacks(struct panes *p)
{
	char head[128];

	if (p->open_stack) {
		draw_opened_stack(p);
		return;
	}
	snprintf(head, sizeof(head), "     %% %12.12s  thread, and the stack from the leaf on", measure_unit(p->shown->summary.measure));
	draw_rows(p, head, draw_stack_row);
}

static void key_in_stacks(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[STACKS];
	bool enter = !key.special && key.key == '\r';

	if (!p->open_stack && enter && r->selected < r->nr) {
		p->open_stack = id_of_text(p, r->selected);
		p->stack_top = 0;
		return;
	}
	if (!p->open_stack)
		return;
	if (enter || is_back(key))
		p->open_stack = 0;
	else if (key.special && key.key == KEY_DOWN)
		p->stack_top++;
	else if (key.special && key.key == KEY_UP)
		p->stack_top -= p->stack_top > 0;
	else if (key.special && key.key == KEY_NPAGE)
		p->stack_top += p->area.lines;
	else if (key.special && key.key == KEY_PPAGE)
		p->stack_top -= p->stack_top < (size_t)p->area.lines ? p->stack_top : (size_t)p->area.lines;
	else if (key.special && key.key == KEY_HOME)
		p->stack_top = 0;
}

/* ---- the functions ---- */

static const char *function_name(const struct panes *p, uint32_t function)
{
	return stack_functions_text(p->picture.functions.functions, function);
}

static bool name_matches(const struct panes *p, uint32_t function)
{
	return p->has_pattern && !regexec(&p->pattern, function_name(p, function), 0, NULL, 0);
}

/* Draws a function's name, and its module if there is room. */
static void draw_function_name(const struct panes *p, uint32_t function, int line, int column, enum terminal_style style)
{
	int columns = p->area.columns, of_module = columns >= 70 ? 18 : 0, of_name = columns - column - 1 - of_module;
	char *module = stack_functions_module(&p->picture.functions, function);

	terminal_put(line, column, of_name, style, 0, function_name(p, function));
	terminal_put(line, column + of_name, 1, style, 0, "");
	terminal_put(line, column + of_name + 1, of_module, style, 0, module ? module : "");
	free(module);
}

static uint64_t id_of_function(const struct panes *p, size_t row)
{
	return picture_function_id(&p->picture, p->picture.order[row]);
}

static bool function_matches(const struct panes *p, size_t row)
{
	return name_matches(p, p->picture.order[row]);
}

static void draw_function(const struct panes *p, size_t row, int line)
{
	const struct rows *r = &p->rows[FUNCTIONS];
	enum terminal_style style = style_of_row(r, row, function_matches(p, row));
	uint64_t self, total;
	char head[64];

	stack_functions_values(&p->picture.functions, p->picture.order[row], &self, &total);
	snprintf(head, sizeof(head), "%6.1f  %7.1f %12" PRIu64 "  ", percent_of(self, p->picture.sum), percent_of(total, p->picture.sum),
		 measure_in_text(p->shown->summary.measure, self));
	terminal_put(line, 0, p->area.columns, style, 0, head);
	draw_function_name(p, p->picture.order[row], line, 30, style);
}

static void draw_functions(struct panes *p)
{
	char head[128];

	snprintf(head, sizeof(head), "self %%  total %% %12.12s  function", measure_unit(p->shown->summary.measure));
	draw_rows(p, head, draw_function);
}

/* Shows who calls the function, and whom it calls. */
static void open_function(struct panes *p, uint64_t id)
{
	if (p->nr_opened == MAX_ZOOMS)
		return;
	p->opened[p->nr_opened++] = id;
	p->rows[CALLS] = (struct rows){};
	p->pane = CALLS;
	forget_calls(p);
}

static void key_in_functions(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[FUNCTIONS];

	if (!key.special && key.key == '\r' && r->selected < r->nr) {
		p->nr_opened = 0;
		open_function(p, id_of_function(p, r->selected));
	}
}

/* ---- a function's callers and callees ---- */

static uint64_t id_of_call(const struct panes *p, size_t row)
{
	return picture_function_id(&p->picture, p->calls[row].function) + 2 * p->calls[row].called;
}

static bool call_matches(const struct panes *p, size_t row)
{
	return name_matches(p, p->calls[row].function);
}

static int list_calls(struct panes *p)
{
	const struct picture *picture = &p->picture;
	size_t row = 0;

	while (row < picture->nr_functions && id_of_function(p, row) != p->opened[p->nr_opened - 1])
		row++;
	p->function = row < picture->nr_functions ? picture->order[row] : UINT32_MAX;
	p->nr_calls = 0;
	if (row < picture->nr_functions && !p->calls)
		p->calls = stack_functions_calls(&picture->functions, picture->texts, picture->nr_texts, p->function, &p->nr_calls);
	return row == picture->nr_functions || p->calls ? 0 : -ENOMEM;
}

static void draw_call(const struct panes *p, size_t row, int line)
{
	const struct function_call *call = &p->calls[row];
	enum terminal_style style = style_of_row(&p->rows[CALLS], row, call_matches(p, row));
	uint64_t self, total;
	char head[64];

	stack_functions_values(&p->picture.functions, p->function, &self, &total);
	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  %s  ", percent_of(call->value, total),
		 measure_in_text(p->shown->summary.measure, call->value), call->called ? "calls    " : "called by");
	terminal_put(line, 0, p->area.columns, style, 0, head);
	draw_function_name(p, call->function, line, 32, style);
}

static void draw_calls(struct panes *p)
{
	uint64_t self, total;
	char head[512];

	if (p->function == UINT32_MAX) {
		terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "(this function did not occur in this time)");
		return;
	}
	stack_functions_values(&p->picture.functions, p->function, &self, &total);
	snprintf(head, sizeof(head), "%.1f %% self, %.1f %% total, and as shares of the total: %s", percent_of(self, p->picture.sum),
		 percent_of(total, p->picture.sum), function_name(p, p->function));
	draw_rows(p, head, draw_call);
}

static void key_in_calls(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[CALLS];

	if (!key.special && key.key == '\r' && r->selected < r->nr) {
		open_function(p, picture_function_id(&p->picture, p->calls[r->selected].function));
	} else if (is_back(key)) {
		p->pane = --p->nr_opened ? CALLS : FUNCTIONS;
		p->rows[CALLS] = (struct rows){};
		forget_calls(p);
	}
}

/* ---- the processes ---- */

static int by_process(const void *left, const void *right)
{
	const struct process_row *l = left, *r = right;

	return order_of(l->entry->key.pid, r->entry->key.pid) ?: order_of(l->entry, r->entry);
}

static int hottest_first(const void *left, const void *right)
{
	const struct process_row *l = left, *r = right;

	return order_of(r->value, l->value) ?: order_of(l->entry->key.pid, r->entry->key.pid);
}

static uint64_t id_of_process(const struct panes *p, size_t row)
{
	return 1 + (uint64_t)p->process_rows[row].entry->key.pid;
}

/* The entries are sorted: a process's first one is its hottest. */
static int list_processes(struct panes *p)
{
	const struct measure *measure = p->shown->summary.measure;
	struct process_row *rows;
	size_t nr = 0;

	if (array_reserve(&p->process_rows, &p->process_room, p->shown->nr + 1))
		return -ENOMEM;
	rows = p->process_rows;
	p->process_sum = 0;
	for (size_t i = 0; i < p->shown->nr; i++) {
		rows[i] = (struct process_row){ &p->shown->entries[i], measure->value(&p->shown->entries[i].value) };
		p->process_sum += rows[i].value;
	}
	qsort(rows, p->shown->nr, sizeof(*rows), by_process);
	for (size_t i = 0; i < p->shown->nr; i++) {
		if (nr && rows[nr - 1].entry->key.pid == rows[i].entry->key.pid)
			rows[nr - 1].value += rows[i].value;
		else
			rows[nr++] = rows[i];
	}
	qsort(rows, nr, sizeof(*rows), hottest_first);
	p->nr_processes = nr;
	return 0;
}

/* "PID COMMAND LINE", escaped, or the name of a thread if there is none; the caller frees it. NULL: no memory */
static char *name_of_process(const struct panes *p, size_t row)
{
	const struct stack_entry *entry = p->process_rows[row].entry;
	const struct process_note *note = process_notes_find(p->shown->writer.processes, entry->key.pid);
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "%7" PRIu32 "  ", entry->key.pid);
	print_message(out, note && note->cmdline ? note->cmdline : stack_entry_thread(entry));
	return fclose(out) ? NULL : name;
}

static bool process_matches(const struct panes *p, size_t row)
{
	return matches(p, name_of_process, row);
}

static void draw_process(const struct panes *p, size_t row, int line)
{
	const struct rows *r = &p->rows[PROCESSES];
	enum terminal_style style = style_of_row(r, row, process_matches(p, row));
	uint64_t value = p->process_rows[row].value;
	char *name = name_of_process(p, row);
	char head[48];

	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  ", percent_of(value, p->process_sum),
		 measure_in_text(p->shown->summary.measure, value));
	terminal_put(line, 0, p->area.columns, style, 0, head);
	terminal_put(line, 21, p->area.columns - 21, style, 0, name ? name : "");
	free(name);
}

static void draw_processes(struct panes *p)
{
	char head[128];

	snprintf(head, sizeof(head), "     %% %12.12s      PID  command", measure_unit(p->shown->summary.measure));
	draw_rows(p, head, draw_process);
}

static void key_in_processes(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[PROCESSES];

	if (!key.special && key.key == '\r' && r->selected < r->nr)
		p->process = p->process_rows[r->selected].entry->key.pid;
}

uint32_t panes_process(struct panes *p)
{
	uint32_t process = p->process;

	p->process = 0;
	return process;
}

/* ---- the timeline ---- */

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
	uint64_t began_ns = lanes_from(p->shown->lanes), cell_ns = cells_ns[p->cell];
	uint64_t all = p->shown->until_ns > began_ns ? (p->shown->until_ns - began_ns) / cell_ns : 0;
	uint64_t room = p->area.columns - columns_of_name(p), nr = all < room ? all : room;

	return (struct span){ began_ns + (all - nr) * cell_ns, cell_ns, nr };
}

static int most_active_first(const void *left, const void *right)
{
	const struct lane_row *l = left, *r = right;

	return order_of(r->time.ns[LANE_RUNNING], l->time.ns[LANE_RUNNING]) ?: order_of(r->time.ns[LANE_WAITING], l->time.ns[LANE_WAITING]) ?:
	       order_of(l->thread.id, r->thread.id);
}

/* the threads that have stacks which match, sorted */
struct shown_threads {
	struct panes *panes;
	bool all;
	uint64_t *ids;
	size_t nr;
};

static uint64_t thread_id(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* 0 or -ENOMEM */
static int find_shown_threads(struct shown_threads *threads)
{
	const struct live_shown *shown = threads->panes->shown;

	threads->all = !shown->summary.only;
	if (threads->all || !shown->nr_all)
		return 0;
	threads->ids = malloc(shown->nr_all * sizeof(*threads->ids));
	if (!threads->ids)
		return -ENOMEM;
	for (size_t i = 0; i < shown->nr_all; i++) {
		uint64_t id = thread_id(shown->entries[i].key.pid, shown->entries[i].key.tid);

		if (!threads->nr || threads->ids[threads->nr - 1] != id)
			threads->ids[threads->nr++] = id;
	}
	qsort(threads->ids, threads->nr, sizeof(*threads->ids), order_numbers);
	return 0;
}

static int add_lane(void *arg, const struct lane_thread *thread, const struct lane_time *time)
{
	const struct shown_threads *threads = arg;
	struct panes *p = threads->panes;
	struct rows *r = &p->rows[TIMELINE];
	uint64_t id = thread_id(thread->pid, thread->tid);

	if (!threads->all && (!threads->nr || !bsearch(&id, threads->ids, threads->nr, sizeof(id), order_numbers)))
		return 0;
	if (array_reserve(&p->lane_rows, &p->lane_room, r->nr + 1))
		return -ENOMEM;
	p->lane_rows[r->nr++] = (struct lane_row){ *thread, *time };
	return 0;
}

static uint64_t id_of_lane(const struct panes *p, size_t row)
{
	return p->lane_rows[row].thread.id;
}

static int list_lanes(struct panes *p)
{
	struct span span = span_of(p);
	struct rows *r = &p->rows[TIMELINE];
	struct shown_threads threads = { .panes = p };
	int error = find_shown_threads(&threads);

	r->nr = 0;
	if (!error)
		error = lanes_visit(p->shown->lanes, span.from_ns, span.from_ns + span.nr * span.cell_ns, add_lane, &threads);
	free(threads.ids);
	if (r->nr)
		qsort(p->lane_rows, r->nr, sizeof(p->lane_rows[0]), most_active_first);
	settle(p, r, r->nr, id_of_lane);
	return error;
}

/* "comm (pid/tid)", escaped; NULL: no memory */
static char *name_of_lane(const struct panes *p, size_t row)
{
	const struct lane_thread *thread = &p->lane_rows[row].thread;
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
	return matches(p, name_of_lane, row);
}

/* What takes most of a cell is its state; but what was lost is always seen. NR_LANE_STATES: nothing is known */
static enum lane_state state_of_cell(const struct lane_time *cell)
{
	enum lane_state most = LANE_LOST;

	for (enum lane_state state = 0; state < LANE_LOST && !cell->ns[LANE_LOST]; state++)
		if (cell->ns[state] > cell->ns[most])
			most = state;
	return cell->ns[most] ? most : NR_LANE_STATES;
}

static void draw_lane(const struct panes *p, size_t row, int line, const struct span *span, struct lane_time *cells)
{
	enum terminal_style style = style_of_row(&p->rows[TIMELINE], row, lane_matches(p, row));
	int of_name = columns_of_name(p);
	char *name = name_of_lane(p, row);

	terminal_put(line, 0, of_name - 1, style, 0, name ? name : "");
	free(name);
	lanes_cells(p->shown->lanes, p->lane_rows[row].thread.id, span->from_ns, span->cell_ns, span->nr, cells);
	for (size_t i = 0; i < span->nr; i++) {
		enum lane_state state = state_of_cell(&cells[i]);

		if (state < NR_LANE_STATES)
			terminal_put(line, of_name + i, 1, STYLE_LANE + state, 0, (char[]){ lane_names[state][0], 0 });
	}
}

/* seconds since the measurement began */
static void draw_scale(const struct panes *p, const struct span *span)
{
	uint64_t first = (span->from_ns - lanes_from(p->shown->lanes)) / span->cell_ns;
	char label[32];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, "thread");
	for (size_t i = (SCALE_CELLS - first % SCALE_CELLS) % SCALE_CELLS; i < span->nr; i += SCALE_CELLS) {
		snprintf(label, sizeof(label), "|%.10g s", (first + i) * span->cell_ns / 1e9);
		if (i + strlen(label) <= span->nr)
			terminal_put(p->area.line, columns_of_name(p) + i, SCALE_CELLS, STYLE_DIM, 0, label);
	}
}

static void draw_timeline(struct panes *p)
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
static void say_lane(const struct panes *p, char *text, size_t bytes)
{
	const struct rows *r = &p->rows[TIMELINE];
	const struct lane_time *time = &p->lane_rows[r->selected].time;
	uint64_t all = 0;
	char *name = name_of_lane(p, r->selected);
	FILE *out = fmemopen(text, bytes, "w");

	for (enum lane_state state = 0; state < NR_LANE_STATES; state++)
		all += time->ns[state];
	if (out)
		fprintf(out, "%s:", name ? name : "");
	for (enum lane_state state = 0; out && state < NR_LANE_STATES; state++)
		if (state < LANE_LOST || time->ns[state])
			fprintf(out, "%s %.1f %% %s", state ? "," : "", percent_of(time->ns[state], all), lane_names[state]);
	if (out)
		fclose(out);
	free(name);
}

static void key_in_timeline(struct panes *p, struct terminal_key key)
{
	if (!key.special && (key.key == '+' || key.key == '='))
		p->cell -= p->cell > 0;
	else if (!key.special && key.key == '-')
		p->cell += p->cell + 1 < NR_CELLS;
}

/* ---- searching ---- */

int panes_search(struct panes *p, const char *pattern, char *wrong, size_t bytes)
{
	regex_t compiled;

	if (*pattern && pattern_compile(&compiled, pattern, wrong, bytes))
		return -EINVAL;
	if (p->has_pattern)
		regfree(&p->pattern);
	p->has_pattern = *pattern;
	if (*pattern)
		p->pattern = compiled;
	p->matched = false;
	if (panes_prepare(p)) {
		snprintf(wrong, bytes, "no memory");
		return -EINVAL;
	}
	return 0;
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

	for (uint32_t node = node_after(&p->picture, from); node != from; node = node_after(&p->picture, node)) {
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
	for (uint32_t at = p->picture.tree.nodes[node].parent; at; at = p->picture.tree.nodes[at].parent)
		if (!is_open(p, at))
			toggle(p, p->picture.ids[at]);
}

static void next_in_tree(struct panes *p, int direction)
{
	struct rows *r = &p->rows[TREE];
	uint32_t node = next_matching_node(p, r->selected < r->nr ? p->tree_rows[r->selected].node : 0, direction);

	if (!node)
		return;
	open_callers(p, node);
	r->id = p->picture.ids[node];
}

static void next_in_flame(struct panes *p, int direction)
{
	const struct cell *at = selected_cell(p);
	size_t from = at ? at - p->cells : 0;

	for (size_t i = 1; i <= p->nr_cells; i++) {
		const struct cell *cell = &p->cells[(direction > 0 ? from + i : from + p->nr_cells - i) % p->nr_cells];

		if (cell->nr == 1 && picture_matches(&p->picture, cell->node)) {
			select_cell(p, cell);
			return;
		}
	}
}

static const struct {
	bool (*matches)(const struct panes *p, size_t row);
	uint64_t (*id)(const struct panes *p, size_t row);
} rows_of[NR_PANES] = {
	[STACKS] = { stack_matches, id_of_text }, [FUNCTIONS] = { function_matches, id_of_function },
	[PROCESSES] = { process_matches, id_of_process }, [TIMELINE] = { lane_matches, id_of_lane },
	[CALLS] = { call_matches, id_of_call },
};

static void next_in_rows(struct panes *p, int direction)
{
	struct rows *r = &p->rows[p->pane];

	for (size_t i = 1; i <= r->nr; i++) {
		size_t row = (direction > 0 ? r->selected + i : r->selected + r->nr - i) % r->nr;

		if (rows_of[p->pane].matches(p, row)) {
			select_row(r, row);
			r->id = rows_of[p->pane].id(p, row);
			return;
		}
	}
}

void panes_next_match(struct panes *p, int direction)
{
	if (!p->shown || !p->has_pattern)
		return;
	if (p->pane == FLAME)
		next_in_flame(p, direction);
	else if (p->pane == TREE)
		next_in_tree(p, direction);
	else
		next_in_rows(p, direction);
}

/* ---- all of them ---- */

int panes_prepare(struct panes *p)
{
	bool tree = p->pane == FLAME || p->pane == TREE;
	int error;

	if (!p->shown)
		return 0;
	if (p->pane == TIMELINE)
		return list_lanes(p);
	if (p->pane == PROCESSES) {
		error = p->nr_processes ? 0 : list_processes(p);
		settle(p, &p->rows[PROCESSES], p->nr_processes, id_of_process);
		return error;
	}
	if (!(tree ? p->picture.has_tree : p->picture.has_texts))
		p->matched = false;
	error = tree ? picture_need_tree(&p->picture, p->shown) : picture_need_texts(&p->picture, p->shown);
	if (!error && !p->matched)
		error = picture_match(&p->picture, p->has_pattern ? &p->pattern : NULL);
	p->matched = true;
	if (error)
		return error;
	if (p->pane == TREE)
		error = list_tree(p);
	else if (p->pane == STACKS)
		settle(p, &p->rows[STACKS], p->picture.nr_texts, id_of_text);
	else if (p->pane == FUNCTIONS)
		settle(p, &p->rows[FUNCTIONS], p->picture.nr_functions, id_of_function);
	else if (p->pane == CALLS && !p->calls)
		error = list_calls(p);
	if (p->pane == CALLS)
		settle(p, &p->rows[CALLS], p->nr_calls, id_of_call);
	return error;
}

static bool is_empty(const struct panes *p)
{
	return !p->shown || (p->pane == TIMELINE ? !p->rows[TIMELINE].nr : !p->shown->nr);
}

void panes_draw(struct panes *p, const struct pane_area *area)
{
	static void (*const draw[NR_PANES])(struct panes *p) = {
		[FLAME] = draw_flame, [TREE] = draw_tree, [STACKS] = draw_stacks, [FUNCTIONS] = draw_functions,
		[PROCESSES] = draw_processes, [TIMELINE] = draw_timeline, [CALLS] = draw_calls,
	};

	p->area = *area;
	if (!p->shown || panes_prepare(p))
		return;
	if (is_empty(p)) {
		terminal_put(area->line, 0, area->columns, STYLE_DIM, 0, "(nothing in this time)");
		return;
	}
	keep_in_sight(&p->rows[p->pane], area->lines - 1);
	draw[p->pane](p);
}

void panes_say(const struct panes *p, char *text, size_t bytes)
{
	const struct cell *cell;
	size_t at = 0;

	*text = 0;
	if (is_empty(p))
		return;
	if (p->pane == TIMELINE) {
		say_lane(p, text, bytes);
		return;
	}
	if (p->pane == PROCESSES) {
		snprintf(text, bytes, "%s. Enter shows only this process", counted(p->rows[PROCESSES].nr, "processes").text);
		return;
	}
	if (p->has_pattern)
		at = snprintf(text, bytes, "%.1f %% match. ", 100 * p->picture.matching);
	cell = p->pane == FLAME ? selected_cell(p) : NULL;
	if (!cell)
		return;
	snprintf(text + at, bytes - at, "%.1f %%, %s: ", 100 * share_of(p, cell->node),
		 measure_say(p->shown->summary.measure, llround(p->picture.totals[cell->node][FLAME_NOW])).text);
	at += strlen(text + at);
	if (cell->nr > 1)
		snprintf(text, bytes, "%" PRIu32 " functions, each too narrow", cell->nr);
	else
		snprintf(text + at, bytes - at, "%s", picture_name(&p->picture, cell->node));
}

static enum pane last_pane(const struct panes *p)
{
	return p->shown && p->shown->lanes ? TIMELINE : PROCESSES;
}

static void select_pane(struct panes *p, enum pane pane)
{
	if (pane > last_pane(p))
		return;
	p->pane = pane;
	p->open_stack = 0;
}

void panes_key(struct panes *p, struct terminal_key key)
{
	const char *pane = !key.special && key.key > ' ' && key.key < 127 ? strchr(pane_keys, key.key) : NULL;
	bool in_stack = p->pane == STACKS && p->open_stack;

	if (pane)
		select_pane(p, pane - pane_keys);
	else if (!key.special && key.key == '\t')
		select_pane(p, p->pane >= last_pane(p) ? FLAME : p->pane + 1);
	else if (!key.special && (key.key == 'n' || key.key == 'N'))
		panes_next_match(p, key.key == 'n' ? 1 : -1);
	else if (is_empty(p))
		return;
	else if (p->pane == FLAME)
		key_in_flame(p, key);
	else if (!in_stack && move_in_rows(&p->rows[p->pane], key, p->area.lines > 1 ? p->area.lines - 1 : 1))
		return;
	else if (p->pane == TREE)
		key_in_tree(p, key);
	else if (p->pane == STACKS)
		key_in_stacks(p, key);
	else if (p->pane == FUNCTIONS)
		key_in_functions(p, key);
	else if (p->pane == CALLS)
		key_in_calls(p, key);
	else if (p->pane == PROCESSES)
		key_in_processes(p, key);
	else if (p->pane == TIMELINE)
		key_in_timeline(p, key);
}

static void click_in_flame(struct panes *p, int line, int column)
{
	const struct cell *cell = cell_at(p, line - p->area.line + p->flame_top, column, column + 1);

	if (cell && p->in_flame == id_of_cell(p, cell))
		zoom_in(p, cell);
	else
		select_cell(p, cell);
}

void panes_mouse(struct panes *p, int line, int column, int wheel)
{
	struct rows *r = &p->rows[p->pane];
	size_t row = r->top + line - p->area.line - 1;

	if (is_empty(p))
		return;
	if (wheel)
		panes_key(p, (struct terminal_key){ true, wheel < 0 ? KEY_UP : KEY_DOWN });
	else if (line < p->area.line || line >= p->area.line + p->area.lines)
		return;
	else if (p->pane == FLAME)
		click_in_flame(p, line, column);
	else if (line == p->area.line)
		return;
	else if (row == r->selected)
		panes_key(p, (struct terminal_key){ false, '\r' });
	else if (row < r->nr)
		select_row(r, row);
}
