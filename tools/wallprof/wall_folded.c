// SPDX-License-Identifier: GPL-2.0-or-later
/* Wall-clock stacks, folded, in microseconds: the last frame is the thread's state. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "report/merged_texts.h"
#include "wallprof/wall.h"

/* Adds the line that was printed. 0 or -ENOMEM */
static int add(struct merged_texts *lines, struct text *printed, uint64_t ns)
{
	char *text = text_end(printed);
	int error = text ? merged_texts_add(lines, text, ns) : -ENOMEM;

	free(text);
	return error;
}

static int add_key(struct merged_texts *lines, const struct wall *w, const struct stack_entry *key,
		   enum wall_state state, uint64_t ns)
{
	struct stack_writer writer = w->writer;
	struct text *text = text_begin();

	if (!text)
		return -ENOMEM;
	writer.out = text->out;
	stack_print_folded(&writer, key);
	fprintf(writer.out, ";[%s", wall_state_name(state));
	if (state == WALL_BLOCKED)
		fprintf(writer.out, " %c", wall_why(key));
	putc(']', writer.out);
	return add(lines, text, ns);
}

/* what a life has beside the time of keys */
static int add_rest(struct merged_texts *lines, const struct life *life, const char *what,
		    uint64_t ns)
{
	struct text *text = ns ? text_begin() : NULL;

	if (!text)
		return ns ? -ENOMEM : 0;
	print_escaped(text->out, *life->comm ? life->comm : "[unknown]");
	fprintf(text->out, ";[%s]", what);
	return add(lines, text, ns);
}

int wall_folded(const struct wall *w)
{
	struct merged_texts *lines;
	struct wall_sums sums;
	int error = wall_sums_make(&sums, w);

	if (error)
		return error;
	lines = merged_texts_new();
	error = lines ? 0 : -ENOMEM;
	for (uint32_t number = 1; number <= w->nr_keys && !error; number++)
		for (int state = 0; state < NR_WALL_STATES && !error; state++)
			if (wall_key(w, number) && sums.keys[number].ns[state])
				error = add_key(lines, w, wall_key(w, number), state,
						sums.keys[number].ns[state]);
	for (size_t i = 0; i < w->nr_lives && !error; i++) {
		error = add_rest(lines, &w->lives[i], "running", sums.lives[i].unsampled_ns);
		if (!error)
			error = add_rest(lines, &w->lives[i], "lost", sums.lives[i].ns[WALL_LOST]);
	}
	if (!error) {
		size_t nr = merged_texts_sort(lines);

		/* sums that round to 0 are left out */
		for (size_t i = 0; i < nr && merged_texts_get(lines, i)->value >= 500; i++) {
			uint64_t ns = merged_texts_print(lines, w->writer.out, i);

			fprintf(w->writer.out, " %" PRIu64 "\n", (ns + 500) / 1000);
		}
	}
	merged_texts_free(lines);
	wall_sums_free(&sums);
	return error;
}
