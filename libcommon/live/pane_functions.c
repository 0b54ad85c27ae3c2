// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *function_name(const struct panes *p, uint32_t function)
{
	return stack_functions_text(p->picture.functions.functions, function);
}

static bool name_matches(const struct panes *p, uint32_t function)
{
	return p->has_pattern && !regexec(&p->pattern, function_name(p, function), 0, NULL, 0);
}

/* Draws a function's name, and its module if there is room. */
static void draw_function_name(const struct panes *p, uint32_t function, int line, int column,
			       enum terminal_style style)
{
	int columns = p->area.columns, of_module = columns >= 70 ? 18 : 0,
	    of_name = columns - column - 1 - of_module;
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
	enum terminal_style style = pane_row_style(p, row, function_matches(p, row));
	uint64_t self, total;
	char head[64];

	stack_functions_values(&p->picture.functions, p->picture.order[row], &self, &total);
	snprintf(head, sizeof(head), "%6.1f  %7.1f %12" PRIu64 "  ",
		 percent_of(self, p->picture.sum), percent_of(total, p->picture.sum),
		 measure_in_text(p->shown->summary.measure, self));
	terminal_put(line, 0, p->area.columns, style, 0, head);
	draw_function_name(p, p->picture.order[row], line, 30, style);
}

static void draw_functions(struct panes *p)
{
	char head[128];

	snprintf(head, sizeof(head), "self %%  total %% %12.12s  function",
		 measure_unit(p->shown->summary.measure));
	pane_draw_rows(p, head, draw_function);
}

/* Shows who calls the function, and whom it calls. */
static void open_function(struct panes *p, uint64_t id)
{
	if (p->calls.nr_opened == MAX_ZOOMS)
		return;
	p->calls.opened[p->calls.nr_opened++] = id;
	p->rows[CALLS] = (struct rows){};
	p->pane = CALLS;
	pane_forget_calls(p);
}

static void key_in_functions(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[FUNCTIONS];

	if (!pane_move(p, key) && pane_is_enter(key) && r->selected < r->nr) {
		p->calls.nr_opened = 0;
		open_function(p, id_of_function(p, r->selected));
	}
}

static size_t nr_functions(const struct panes *p)
{
	return p->picture.nr_functions;
}

const struct pane_kind functions_pane = {
	.key = 'u',
	.prepare = pane_need_texts,
	.draw = draw_functions,
	.key_pressed = key_in_functions,
	.nr = nr_functions,
	.id = id_of_function,
	.matches = function_matches,
};

/* ---- a function's callers and callees ---- */

static uint64_t id_of_call(const struct panes *p, size_t row)
{
	return picture_function_id(&p->picture, p->calls.of[row].function) +
	       2 * p->calls.of[row].called;
}

static bool call_matches(const struct panes *p, size_t row)
{
	return name_matches(p, p->calls.of[row].function);
}

static int list_calls(struct panes *p)
{
	const struct picture *picture = &p->picture;
	size_t row = 0;

	while (row < picture->nr_functions &&
	       id_of_function(p, row) != p->calls.opened[p->calls.nr_opened - 1])
		row++;
	p->calls.function = row < picture->nr_functions ? picture->order[row] : UINT32_MAX;
	p->calls.nr = 0;
	if (row < picture->nr_functions && !p->calls.of)
		p->calls.of =
			stack_functions_calls(&picture->functions, picture->texts,
					      picture->nr_texts, p->calls.function, &p->calls.nr);
	return row == picture->nr_functions || p->calls.of ? 0 : -ENOMEM;
}

static void draw_call(const struct panes *p, size_t row, int line)
{
	const struct function_call *call = &p->calls.of[row];
	enum terminal_style style = pane_row_style(p, row, call_matches(p, row));
	uint64_t self, total;
	char head[64];

	stack_functions_values(&p->picture.functions, p->calls.function, &self, &total);
	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  %s  ", percent_of(call->value, total),
		 measure_in_text(p->shown->summary.measure, call->value),
		 call->called ? "calls    " : "called by");
	terminal_put(line, 0, p->area.columns, style, 0, head);
	draw_function_name(p, call->function, line, 32, style);
}

static void draw_calls(struct panes *p)
{
	uint64_t self, total;
	char head[512];

	if (p->calls.function == UINT32_MAX) {
		terminal_put(p->area.line, 0, p->area.columns, STYLE_DIM, 0,
			     "(this function did not occur in this time)");
		return;
	}
	stack_functions_values(&p->picture.functions, p->calls.function, &self, &total);
	snprintf(head, sizeof(head), "%.1f %% self, %.1f %% total, and as shares of the total: %s",
		 percent_of(self, p->picture.sum), percent_of(total, p->picture.sum),
		 function_name(p, p->calls.function));
	pane_draw_rows(p, head, draw_call);
}

static void key_in_calls(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[CALLS];

	if (pane_move(p, key))
		return;
	if (pane_is_enter(key) && r->selected < r->nr) {
		open_function(p,
			      picture_function_id(&p->picture, p->calls.of[r->selected].function));
	} else if (pane_is_back(key)) {
		p->pane = --p->calls.nr_opened ? CALLS : FUNCTIONS;
		p->rows[CALLS] = (struct rows){};
		pane_forget_calls(p);
	}
}

static int prepare_calls(struct panes *p)
{
	int error = pane_need_texts(p);

	if (!error && !p->calls.of)
		error = list_calls(p);
	return error;
}

static size_t nr_calls(const struct panes *p)
{
	return p->calls.nr;
}

const struct pane_kind calls_pane = {
	.prepare = prepare_calls,
	.draw = draw_calls,
	.key_pressed = key_in_calls,
	.nr = nr_calls,
	.id = id_of_call,
	.matches = call_matches,
};
