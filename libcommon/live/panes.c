// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/panes_parts.h"
#include "report/stack_filter.h"

#define SHARES_LINES 12 /* lines from which on one is for the processes' shares */

static const struct pane_kind *const kinds[NR_PANES] = {
	[FLAME] = &flame_pane,         [TREE] = &tree_pane,           [STACKS] = &stacks_pane,
	[FUNCTIONS] = &functions_pane, [PROCESSES] = &processes_pane, [TIMELINE] = &timeline_pane,
	[CALLS] = &calls_pane,
};

struct panes *panes_new(void)
{
	struct panes *p = calloc(1, sizeof(*p));

	if (p)
		p->timeline.cell = FIRST_CELL;
	return p;
}

void panes_free(struct panes *p)
{
	if (!p)
		return;
	picture_free(&p->picture);
	if (p->has_pattern)
		regfree(&p->pattern);
	free(p->flame.cells);
	free(p->tree.rows);
	free(p->tree.toggled);
	free(p->calls.of);
	free(p->processes.rows);
	free(p->timeline.rows);
	free(p);
}

void pane_forget_calls(struct panes *p)
{
	free(p->calls.of);
	p->calls.of = NULL;
}

void panes_show(struct panes *p, const struct live_shown *shown)
{
	picture_free(&p->picture);
	p->shown = shown;
	p->matched = false;
	p->flame.nr_cells = 0;
	p->processes.nr = 0;
	pane_forget_calls(p);
}

/* ---- pictures ---- */

double pane_all(const struct panes *p)
{
	return p->picture.totals[0][FLAME_NOW];
}

double pane_share(const struct panes *p, uint32_t node)
{
	return pane_all(p) ? p->picture.totals[node][FLAME_NOW] / pane_all(p) : 0;
}

static int need(struct panes *p, bool is_there,
		int (*make)(struct picture *picture, const struct live_shown *shown))
{
	int error = make(&p->picture, p->shown);

	if (!error && !(p->matched && is_there))
		error = picture_match(&p->picture, p->has_pattern ? &p->pattern : NULL);
	p->matched = !error;
	return error;
}

int pane_need_tree(struct panes *p)
{
	return need(p, p->picture.has_tree, picture_need_tree);
}

int pane_need_texts(struct panes *p)
{
	return need(p, p->picture.has_texts, picture_need_texts);
}

size_t pane_say_matching(const struct panes *p, char *text, size_t bytes)
{
	return p->has_pattern ? snprintf(text, bytes, "%.1f %% match. ", 100 * p->picture.matching)
			      : 0;
}

/* ---- rows ---- */

void pane_select_row(struct panes *p, size_t row)
{
	struct rows *r = &p->rows[p->pane];

	r->selected = r->nr && row >= r->nr ? r->nr - 1 : row;
	r->id = 0; /* settle() gives it one */
}

/* There are so many rows now. What is selected is selected again, where it is now. */
static void settle(struct panes *p, size_t nr)
{
	uint64_t (*id_of)(const struct panes *p, size_t row) = kinds[p->pane]->id;
	struct rows *r = &p->rows[p->pane];

	r->nr = nr;
	for (size_t i = 0; r->id && i < nr; i++) {
		if (id_of(p, i) == r->id) {
			r->selected = i;
			return;
		}
	}
	if (r->selected >= nr)
		r->selected = nr ? nr - 1 : 0;
	if (!r->id && r->selected) /* the first row stays the first */
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

bool pane_is_back(struct terminal_key key)
{
	return key.special ? key.key == KEY_BACKSPACE : key.key == 127 || key.key == 8;
}

bool pane_is_enter(struct terminal_key key)
{
	return !key.special && key.key == '\r';
}

bool pane_move(struct panes *p, struct terminal_key key)
{
	size_t lines = p->area.lines > 1 ? p->area.lines - 1 : 1, to = p->rows[p->pane].selected;

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
	pane_select_row(p, to);
	return true;
}

bool pane_matches(const struct panes *p, char *(*name_of)(const struct panes *p, size_t row),
		  size_t row)
{
	char *name = p->has_pattern ? name_of(p, row) : NULL;
	bool found = name && !regexec(&p->pattern, name, 0, NULL, 0);

	free(name);
	return found;
}

enum terminal_style pane_row_style(const struct panes *p, size_t row, bool matches)
{
	if (row == p->rows[p->pane].selected)
		return STYLE_SELECTED;
	return matches ? STYLE_MATCH : STYLE_PLAIN;
}

void pane_draw_rows(const struct panes *p, const char *head,
		    void (*draw_row)(const struct panes *p, size_t row, int line))
{
	const struct rows *r = &p->rows[p->pane];

	terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0, head);
	for (size_t i = r->top; i < r->nr && i - r->top + 1 < (size_t)p->area.lines; i++)
		draw_row(p, i, p->area.line + 1 + i - r->top);
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

static void next_row(struct panes *p, int direction)
{
	const struct pane_kind *kind = kinds[p->pane];
	struct rows *r = &p->rows[p->pane];

	for (size_t i = 1; i <= r->nr; i++) {
		size_t row = (direction > 0 ? r->selected + i : r->selected + r->nr - i) % r->nr;

		if (kind->matches(p, row)) {
			pane_select_row(p, row);
			r->id = kind->id(p, row);
			return;
		}
	}
}

void panes_next_match(struct panes *p, int direction)
{
	if (!p->shown || !p->has_pattern)
		return;
	if (kinds[p->pane]->next_match)
		kinds[p->pane]->next_match(p, direction);
	else
		next_row(p, direction);
}

/* ---- the selected pane ---- */

bool panes_show_timeline(const struct panes *p)
{
	return p->pane == TIMELINE;
}

bool panes_show_processes(const struct panes *p)
{
	return p->pane == PROCESSES;
}

int panes_prepare(struct panes *p)
{
	const struct pane_kind *kind = kinds[p->pane];
	int error = p->shown ? kind->prepare(p) : 0;

	if (p->shown && !error)
		error = pane_need_processes(p);
	if (p->shown && !error && kind->nr)
		settle(p, kind->nr(p));
	return error;
}

static bool is_empty(const struct panes *p)
{
	if (!p->shown)
		return true;
	return kinds[p->pane]->is_empty ? kinds[p->pane]->is_empty(p) : !p->shown->nr;
}

void panes_draw(struct panes *p, const struct pane_area *area)
{
	if (area->columns != p->area.columns)
		p->flame.nr_cells = 0;
	p->area = *area;
	if (!p->shown || panes_prepare(p))
		return;
	if (is_empty(p)) {
		terminal_put(area->line, 0, area->columns, STYLE_DIM, 0, "(nothing in this time)");
		return;
	}
	if (p->pane != PROCESSES && area->lines >= SHARES_LINES) {
		pane_draw_shares(p, p->area.line++);
		p->area.lines--;
	}
	keep_in_sight(&p->rows[p->pane], p->area.lines - 1);
	kinds[p->pane]->draw(p);
}

void panes_say(const struct panes *p, char *text, size_t bytes)
{
	*text = 0;
	if (is_empty(p))
		return;
	if (kinds[p->pane]->say)
		kinds[p->pane]->say(p, text, bytes);
	else
		pane_say_matching(p, text, bytes);
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
	p->stacks.open = 0;
}

/* NR_PANES: none */
static enum pane pane_of_key(struct terminal_key key)
{
	enum pane pane = 0;

	while (pane < NR_PANES &&
	       (key.special || !kinds[pane]->key || key.key != (uint32_t)kinds[pane]->key))
		pane++;
	return pane;
}

void panes_key(struct panes *p, struct terminal_key key)
{
	enum pane pane = pane_of_key(key);

	if (pane < NR_PANES)
		select_pane(p, pane);
	else if (!key.special && key.key == '\t')
		select_pane(p, p->pane >= last_pane(p) ? FLAME : p->pane + 1);
	else if (!key.special && (key.key == 'n' || key.key == 'N'))
		panes_next_match(p, key.key == 'n' ? 1 : -1);
	else if (!is_empty(p))
		kinds[p->pane]->key_pressed(p, key);
}

/* a click selects a row, and one on the selected row is Enter */
static void click_row(struct panes *p, int line)
{
	const struct rows *r = &p->rows[p->pane];
	size_t row = r->top + line - p->area.line - 1;

	if (line == p->area.line)
		return;
	if (row == r->selected)
		panes_key(p, (struct terminal_key){ false, '\r' });
	else if (row < r->nr)
		pane_select_row(p, row);
}

void panes_mouse(struct panes *p, int line, int column, int wheel)
{
	if (is_empty(p))
		return;
	if (wheel)
		panes_key(p, (struct terminal_key){ true, wheel < 0 ? KEY_UP : KEY_DOWN });
	else if (line < p->area.line || line >= p->area.line + p->area.lines)
		return;
	else if (kinds[p->pane]->click)
		kinds[p->pane]->click(p, line, column);
	else
		click_row(p, line);
}
