// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "report/counted.h"
#include "report/escape.h"

struct process_row {
	const struct stack_entry *entry; /* one of its stacks */
	uint64_t value;
};

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
	return 1 + (uint64_t)p->processes.rows[row].entry->key.pid;
}

/* The entries are sorted: a process's first one is its hottest. */
int pane_need_processes(struct panes *p)
{
	const struct measure *measure = p->shown->summary.measure;
	struct process_row *rows;
	size_t nr = 0;

	if (p->processes.nr)
		return 0;
	if (array_reserve(&p->processes.rows, &p->processes.room, p->shown->nr + 1))
		return -ENOMEM;
	rows = p->processes.rows;
	p->processes.sum = 0;
	for (size_t i = 0; i < p->shown->nr; i++) {
		rows[i] = (struct process_row){ &p->shown->entries[i],
						measure->value(&p->shown->entries[i].value) };
		p->processes.sum += rows[i].value;
	}
	qsort(rows, p->shown->nr, sizeof(*rows), by_process);
	for (size_t i = 0; i < p->shown->nr; i++) {
		if (nr && rows[nr - 1].entry->key.pid == rows[i].entry->key.pid)
			rows[nr - 1].value += rows[i].value;
		else
			rows[nr++] = rows[i];
	}
	qsort(rows, nr, sizeof(*rows), hottest_first);
	p->processes.nr = nr;
	return 0;
}

/* PID 0 is the idle tasks', and that of stacks whose process is not kept */
static const char *name_of(const struct stack_entry *entry)
{
	return entry->key.pid || !strncmp(entry->key.comm, "swapper", 7) ? stack_entry_thread(entry)
									 : "[others]";
}

/*
 * "PID COMMAND LINE", escaped, or the name of a thread if there is none; the caller frees it. NULL:
 * no memory
 */
static char *name_of_process(const struct panes *p, size_t row)
{
	const struct stack_entry *entry = p->processes.rows[row].entry;
	const struct process_note *note =
		process_notes_find(p->shown->writer.processes, entry->key.pid);
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "%7" PRIu32 "  ", entry->key.pid);
	print_message(out, note && note->cmdline ? note->cmdline : name_of(entry));
	return fclose(out) ? NULL : name;
}

static bool process_matches(const struct panes *p, size_t row)
{
	return pane_matches(p, name_of_process, row);
}

static void draw_process(const struct panes *p, size_t row, int line)
{
	enum terminal_style style = pane_row_style(p, row, process_matches(p, row));
	uint64_t value = p->processes.rows[row].value;
	char *name = name_of_process(p, row);
	char head[48];

	snprintf(head, sizeof(head), "%6.1f %12" PRIu64 "  ", percent_of(value, p->processes.sum),
		 measure_in_text(p->shown->summary.measure, value));
	terminal_put(line, 0, p->area.columns, style, 0, head);
	terminal_put(line, 21, p->area.columns - 21, style, 0, name ? name : "");
	free(name);
}

static void draw(struct panes *p)
{
	char head[128];

	snprintf(head, sizeof(head), "     %% %12.12s      PID  command",
		 measure_unit(p->shown->summary.measure));
	pane_draw_rows(p, head, draw_process);
}

static void key_pressed(struct panes *p, struct terminal_key key)
{
	const struct rows *r = &p->rows[PROCESSES];

	if (!pane_move(p, key) && pane_is_enter(key) && r->selected < r->nr)
		p->processes.chosen = p->processes.rows[r->selected].entry->key.pid;
}

uint32_t panes_process(struct panes *p)
{
	uint32_t process = p->processes.chosen;

	p->processes.chosen = 0;
	return process;
}

/* as many as there is room for, the hottest first */
void pane_draw_shares(const struct panes *p, int line)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	for (size_t i = 0; i < p->processes.nr && ftell(out) < p->area.columns; i++) {
		const struct stack_entry *entry = p->processes.rows[i].entry;

		fprintf(out, "%s%.1f %% ", i ? "   " : "",
			percent_of(p->processes.rows[i].value, p->processes.sum));
		print_message(out, name_of(entry));
		fprintf(out, " (%" PRIu32 ")", entry->key.pid);
	}
	if (!fclose(out))
		terminal_put(line, 0, p->area.columns, STYLE_DIM, 0, text);
	free(text);
}

static size_t nr_processes(const struct panes *p)
{
	return p->processes.nr;
}

static void say(const struct panes *p, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s. Enter shows only this process",
		 counted(p->processes.nr, "processes").text);
}

const struct pane_kind processes_pane = {
	.key = 'P',
	.prepare = pane_need_processes,
	.draw = draw,
	.say = say,
	.key_pressed = key_pressed,
	.nr = nr_processes,
	.id = id_of_process,
	.matches = process_matches,
};
