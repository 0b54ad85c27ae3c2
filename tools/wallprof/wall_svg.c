// SPDX-License-Identifier: GPL-2.0-or-later
/* A wall-clock flame graph: the leaf of each stack is the thread's state. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/flame_page.h"
#include "report/stack_labels.h"
#include "wallprof/wall.h"

static int add(struct flame_tree *tree, struct stack_labels *stack, enum wall_state state, char why,
	       uint64_t ns)
{
	char text[32];
	struct label label = { .text = text, .kind = KIND_LEFT_OUT };
	uint32_t numbers[FLAME_MAX_DEPTH + 1];
	size_t nr = stack->nr < FLAME_MAX_DEPTH ? stack->nr : FLAME_MAX_DEPTH;
	int error;

	snprintf(text, sizeof(text), why ? "[%s %c]" : "[%s]", wall_state_name(state), why);
	for (size_t i = 0; i < nr; i++)
		numbers[i] = stack->numbers[i];
	error = labels_add(tree->labels, &label, &numbers[nr]);
	return error ? error : flame_tree_add(tree, numbers, nr + 1, FLAME_NOW, ns);
}

static int add_key(struct flame_tree *tree, struct stack_labels *stack,
		   const struct stack_entry *key, const struct key_sums *sums)
{
	int error = stack_labels_of(stack, key);

	for (int state = 0; state < NR_WALL_STATES && !error; state++)
		if (sums->ns[state])
			error = add(tree, stack, state, state == WALL_BLOCKED ? wall_why(key) : 0,
				    sums->ns[state]);
	return error;
}

static int fill(struct flame_tree *tree, const struct wall *w)
{
	struct stack_labels stack = { .writer = &w->writer, .labels = tree->labels };
	struct wall_sums sums;
	int error = wall_sums_make(&sums, w);

	if (error)
		return error;
	for (uint32_t number = 1; number <= w->nr_keys && !error; number++)
		if (wall_key(w, number))
			error = add_key(tree, &stack, wall_key(w, number), &sums.keys[number]);
	for (size_t i = 0; i < w->nr_lives && !error; i++) {
		struct stack_entry thread = { .key.pid = w->lives[i].pid,
					      .key.tid = w->lives[i].tid };
		struct key_sums rest = { .ns[WALL_RUNNING] = sums.lives[i].unsampled_ns,
					 .ns[WALL_LOST] = sums.lives[i].ns[WALL_LOST] };

		memcpy(thread.key.comm, w->lives[i].comm, sizeof(thread.key.comm));
		error = add_key(tree, &stack, &thread, &rest);
	}
	stack_labels_free(&stack);
	wall_sums_free(&sums);
	return error;
}

int wall_svg(const struct wall *w)
{
	char *notes = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&notes, &bytes);
	struct flame_tree tree;
	struct flame_page page = { .title = w->command, .unit = "ns", .tree = &tree };
	int error = memory ? flame_tree_init(&tree) : -ENOMEM;

	if (error)
		return error;
	wall_summary(memory, w);
	error = fclose(memory) ? -ENOMEM : fill(&tree, w);
	page.notes = notes;
	if (!error)
		error = flame_page_svg(w->writer.out, &page);
	flame_tree_free(&tree);
	free(notes);
	return error;
}
