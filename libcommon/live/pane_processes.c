// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/panes_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"
#include "report/counted.h"
#include "report/escape.h"

struct process_row {
	uint32_t pid;
	uint64_t value, most; /* most: of its hottest stack, whose thread has this name: */
	char comm[sizeof(((struct stack_key *)0)->comm)];
};

struct known_process {
	uint32_t pid;
	UT_hash_handle hh;
	size_t row;
};

static int hottest_first(const void *left, const void *right)
{
	const struct process_row *l = left, *r = right;

	return order_of(r->value, l->value) ?: order_of(l->pid, r->pid);
}

static uint64_t id_of_process(const struct panes *p, size_t row)
{
	return 1 + (uint64_t)p->processes.rows[row].pid;
}

/* NULL: no memory */
static struct process_row *row_of(struct panes *p, struct known_process **all, uint32_t pid)
{
	struct known_process *known;

	HASH_FIND_INT(*all, &pid, known);
	if (known)
		return &p->processes.rows[known->row];
	known = calloc(1, sizeof(*known));
	if (!known || array_reserve(&p->processes.rows, &p->processes.room, p->processes.nr + 1)) {
		free(known);
		return NULL;
	}
	known->pid = pid;
	known->row = p->processes.nr++;
	HASH_ADD_INT(*all, pid, known);
	p->processes.rows[known->row] = (struct process_row){ .pid = pid };
	return &p->processes.rows[known->row];
}

static int add_to_row(struct panes *p, struct known_process **all, const struct stack_entry *entry)
{
	uint64_t value = p->shown->summary.measure->value(&entry->value);
	struct process_row *row = row_of(p, all, entry->key.pid);

	if (!row)
		return -ENOMEM;
	if (value > row->most || !*row->comm) {
		row->most = value;
		snprintf(row->comm, sizeof(row->comm), "%s", stack_entry_thread(entry));
	}
	row->value += value;
	p->processes.sum += value;
	return 0;
}

int pane_need_processes(struct panes *p)
{
	struct known_process *all = NULL;
	int error = 0;

	if (p->processes.nr)
		return 0;
	p->processes.sum = 0;
	for (size_t i = 0; i < p->shown->nr && !error; i++)
		error = add_to_row(p, &all, &p->shown->entries[i]);
	hash_free_all(all);
	if (!error && p->processes.nr)
		qsort(p->processes.rows, p->processes.nr, sizeof(*p->processes.rows),
		      hottest_first);
	return error;
}

/* PID 0 is the idle tasks', and that of stacks whose process is not kept */
static const char *name_of(const struct process_row *row)
{
	return row->pid || !strncmp(row->comm, "swapper", 7) ? row->comm : "[others]";
}

/*
 * "PID COMMAND LINE", escaped, or the name of a thread if there is none; the caller frees it. NULL:
 * no memory
 */
static char *name_of_process(const struct panes *p, size_t row)
{
	const struct process_row *process = &p->processes.rows[row];
	const struct process_note *note =
		process_notes_find(p->shown->writer.processes, process->pid);
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "%7" PRIu32 "  ", process->pid);
	print_message(out, note && note->cmdline ? note->cmdline : name_of(process));
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
		p->processes.chosen = p->processes.rows[r->selected].pid;
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
		const struct process_row *row = &p->processes.rows[i];

		fprintf(out, "%s%.1f %% ", i ? "   " : "",
			percent_of(row->value, p->processes.sum));
		print_message(out, name_of(row));
		fprintf(out, " (%" PRIu32 ")", row->pid);
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
