// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/wall_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/stack_labels.h"
#include "stacks_abi.h"

static int take(struct wall_stack *stack, const struct stack_labels *of)
{
	stack->numbers = malloc((of->nr + 1) * sizeof(*stack->numbers));
	if (!stack->numbers)
		return -ENOMEM;
	memcpy(stack->numbers, of->numbers, of->nr * sizeof(*stack->numbers));
	stack->nr = of->nr;
	return 0;
}

/* what a stack's root is called: interrupts have no thread's name */
static struct stack_entry named(const struct stack_entry *key)
{
	struct stack_entry entry = *key;

	if (entry.key.flags & STACK_INTERRUPT)
		strcpy(entry.key.comm, "[interrupt]");
	return entry;
}

int wall_labels_make(struct wall_labels *l, const struct wall *w)
{
	struct stack_labels stacks = { .writer = &w->writer };
	int error = 0;

	*l = (struct wall_labels){ .nr = w->nr_keys + 1 };
	l->labels = stacks.labels = labels_new();
	l->stacks = calloc(l->nr, sizeof(*l->stacks));
	if (!l->labels || !l->stacks)
		error = -ENOMEM;
	for (uint32_t number = 1; number < l->nr && !error; number++) {
		struct stack_entry entry;

		if (!wall_key(w, number) || (w->ids && !w->ids[number - 1]))
			continue;
		entry = named(wall_key(w, number));
		error = stack_labels_of(&stacks, &entry);
		if (!error)
			error = take(&l->stacks[number], &stacks);
	}
	stack_labels_free(&stacks);
	if (error)
		wall_labels_free(l);
	return error;
}

void wall_labels_free(struct wall_labels *l)
{
	for (size_t i = 0; l->stacks && i < l->nr; i++)
		free(l->stacks[i].numbers);
	free(l->stacks);
	if (l->labels)
		labels_free(l->labels);
	*l = (struct wall_labels){};
}
