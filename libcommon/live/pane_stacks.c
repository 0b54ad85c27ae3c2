// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
	size_t bytes, leaf,
		room = p->area.columns * 4,
		first = stack_functions_first(&p->picture.functions, text->pieces, text->nr);
	FILE *out = open_memstream(&line, &bytes);

	if (!out)
		return NULL;
	leaf = stack_functions_leaf(&p->picture.functions, text->pieces + first,
				    text->nr - 1 - first);
	if (leaf < text->nr - 1 - first)
		first += leaf;
	for (size_t i = first; i + 1 < text->nr && ftell(out) < (long)room; i++)
		fprintf(out, "%s%s", i > first ? " < " : "", line_of(p, text->pieces[i]));
	return fclose(out) ? NULL : line;
}

static void draw_stack_row(const struct panes *p, size_t row, int line)
{
	const struct merged_text *text = merged_texts_get(p->picture.texts, row);
	enum terminal_style style = pane_row_style(p, row, stack_matches(p, row));
	int columns = p->area.columns, thread = columns / 4 < 24 ? columns / 4 : 24;
	char *callers = callers_in_line(p, text);
	char head[48];

	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  ",
		 percent_of(text->value, p->picture.sum),
		 measure_in_text(p->shown->summary.measure, text->value));
	terminal_put(line, 0, columns, style, 0, head);
	terminal_put(line, 21, thread, style, 0, thread_of(p, text));
	terminal_put(line, 21 + thread, 2, style, 0, "");
	terminal_put(line, 23 + thread, columns - 23 - thread, style, 0, callers ? callers : "");
	free(callers);
}

static const struct merged_text *opened_stack(const struct panes *p)
{
	for (size_t i = 0; p->stacks.open && i < p->picture.nr_texts; i++)
		if (id_of_text(p, i) == p->stacks.open)
			return merged_texts_get(p->picture.texts, i);
	return NULL;
}

static void draw_opened_stack(struct panes *p)
{
	const struct merged_text *text = opened_stack(p);
	char head[512];

	if (!text) {
		terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0,
			     "(this stack did not occur in this time)");
		return;
	}
	snprintf(head, sizeof(head), "%s, %.1f %% of all",
		 measure_say(p->shown->summary.measure, text->value).text,
		 percent_of(text->value, p->picture.sum));
	terminal_put(p->area.line, 0, p->area.columns, STYLE_HEAD, 0, head);
	if (p->stacks.top >= text->nr)
		p->stacks.top = text->nr - 1;
	for (uint32_t i = p->stacks.top;
	     i < text->nr && i - p->stacks.top + 1 < (uint32_t)p->area.lines; i++)
		terminal_put(p->area.line + 1 + i - p->stacks.top, 2, p->area.columns - 2,
			     p->picture.lines && p->picture.lines[text->pieces[i]] ? STYLE_MATCH
										   : STYLE_PLAIN,
			     0, line_of(p, text->pieces[i]));
}

static void draw(struct panes *p)
{
	char head[128];

	if (p->stacks.open) {
		draw_opened_stack(p);
		return;
	}
	snprintf(head, sizeof(head), "     %% %12.12s  thread, and the stack from the leaf on",
		 measure_unit(p->shown->summary.measure));
	pane_draw_rows(p, head, draw_stack_row);
}

static void key_pressed(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[STACKS];
	bool enter = pane_is_enter(key);

	if (!p->stacks.open && pane_move(p, key))
		return;
	if (!p->stacks.open && enter && r->selected < r->nr) {
		p->stacks.open = id_of_text(p, r->selected);
		p->stacks.top = 0;
		return;
	}
	if (!p->stacks.open)
		return;
	if (enter || pane_is_back(key))
		p->stacks.open = 0;
	else if (key.special && key.key == KEY_DOWN)
		p->stacks.top++;
	else if (key.special && key.key == KEY_UP)
		p->stacks.top -= p->stacks.top > 0;
	else if (key.special && key.key == KEY_NPAGE)
		p->stacks.top += p->area.lines;
	else if (key.special && key.key == KEY_PPAGE)
		p->stacks.top -= p->stacks.top < (size_t)p->area.lines ? p->stacks.top
								       : (size_t)p->area.lines;
	else if (key.special && key.key == KEY_HOME)
		p->stacks.top = 0;
}

static size_t nr_stacks(const struct panes *p)
{
	return p->picture.nr_texts;
}

const struct pane_kind stacks_pane = {
	.key = 'l',
	.prepare = pane_need_texts,
	.draw = draw,
	.key_pressed = key_pressed,
	.nr = nr_stacks,
	.id = id_of_text,
	.matches = stack_matches,
};
