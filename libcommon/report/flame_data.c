// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/flame_data.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/page_text.h"

int flame_data_prepare(struct flame_tree *tree)
{
	int error = flame_tree_prune(tree, FLAME_PAGE_NODES);

	return error ? error : flame_tree_show_left_out(tree);
}

static void put_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\n\"%s\":", name);
	page_put_json(out, page_json(text));
}

static void put_lines(FILE *out, const char *name, const char *text)
{
	struct json_object *lines = json_object_new_array();
	char *copy = strdup(text), *at = copy, *line;

	while (copy && (line = strsep(&at, "\n")))
		if (*line)
			json_object_array_add(lines, page_json(line));
	free(copy);
	fprintf(out, ",\n\"%s\":", name);
	page_put_json(out, lines);
}

static void put_labels(FILE *out, const struct labels *labels)
{
	bool any = false;

	fputs(",\n\"labels\":[", out);
	for (size_t i = 0; i < labels_count(labels); i++) {
		fputs(i ? ",\n" : "\n", out);
		page_put_json(out, page_json(labels_get(labels, i)->text));
	}
	fputs("],\n\"kinds\":\"", out);
	for (size_t i = 0; i < labels_count(labels); i++)
		putc(frame_kind_letters[labels_get(labels, i)->kind], out);
	fputs("\",\n\"threads\":[", out); /* the label's number, PID, TID */
	for (size_t i = 0; i < labels_count(labels); i++) {
		const struct label *label = labels_get(labels, i);

		if (label->tid)
			fprintf(out, "%s[%zu,%" PRIu32 ",%" PRIu32 "]", any ? "," : "", i,
				label->pid, label->tid);
		any |= label->tid;
	}
	putc(']', out);
}

/* the command lines of the threads' processes, by PID */
static void put_commands(FILE *out, const struct flame_page *page)
{
	struct json_object *commands = json_object_new_object();

	for (size_t i = 0; i < labels_count(page->tree->labels); i++) {
		const struct label *label = labels_get(page->tree->labels, i);
		const struct process_note *note =
			label->tid ? process_notes_find(page->processes, label->pid) : NULL;
		char pid[16];

		if (!note || !note->cmdline)
			continue;
		snprintf(pid, sizeof(pid), "%" PRIu32, label->pid);
		json_object_object_add(commands, pid, page_json(note->cmdline));
	}
	fputs(",\n\"commands\":", out);
	page_put_json(out, commands);
}

/* of each node but the root: its caller, its label, and the values of the stacks that end there */
static void put_nodes(FILE *out, const struct flame_page *page)
{
	fputs(",\n\"nodes\":[", out);
	for (size_t i = 1; i < page->tree->nr; i++) {
		const struct flame_node *node = &page->tree->nodes[i];

		fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",%.17g", i > 1 ? ",\n" : "\n", node->parent,
			node->label, node->self[FLAME_NOW]);
		if (page->compared)
			fprintf(out, ",%.17g", node->self[FLAME_BEFORE]);
	}
	putc(']', out);
}

void flame_data_put(FILE *out, const struct flame_page *page)
{
	fprintf(out, "{\"compared\":%s", page->compared ? "true" : "false");
	put_text(out, "title", page->title);
	put_text(out, "when", page->when ? page->when : "");
	put_lines(out, "notes", page->notes ? page->notes : "");
	put_text(out, "unit", page->unit);
	put_labels(out, page->tree->labels);
	put_commands(out, page);
	put_nodes(out, page);
	fputs("}\n", out);
}
