// SPDX-License-Identifier: GPL-2.0-or-later
/* Wall-clock stacks, folded, in microseconds: the last frame is the thread's state. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/order.h"
#include "wallprof/wall.h"
#include "wallprof/wall_sums.h"

struct line {
	char *text;
	uint64_t ns;
	UT_hash_handle hh;
};

/* the text is given away. 0 or -ENOMEM */
static int add(struct line **lines, char *text, uint64_t ns)
{
	struct line *line;

	HASH_FIND_STR(*lines, text, line);
	if (line) {
		free(text);
	} else {
		line = calloc(1, sizeof(*line));
		if (!line) {
			free(text);
			return -ENOMEM;
		}
		line->text = text;
		HASH_ADD_KEYPTR(hh, *lines, text, strlen(text), line);
	}
	line->ns += ns;
	return 0;
}

static int add_key(struct line **lines, const struct wall *w, const struct stack_entry *key,
		   enum wall_state state, uint64_t ns)
{
	struct stack_writer writer = w->writer;
	char *text = NULL;
	size_t size;

	writer.out = open_memstream(&text, &size);
	if (!writer.out)
		return -ENOMEM;
	stack_print_folded(&writer, key);
	fprintf(writer.out, ";[%s", wall_state_name(state));
	if (state == WALL_BLOCKED)
		fprintf(writer.out, " %c", wall_why(key));
	putc(']', writer.out);
	return fclose(writer.out) || !text ? -ENOMEM : add(lines, text, ns);
}

/* what a life has beside the time of keys */
static int add_rest(struct line **lines, const struct life *life, const char *what, uint64_t ns)
{
	char *text = NULL;
	size_t size;
	FILE *out = ns ? open_memstream(&text, &size) : NULL;

	if (!out)
		return ns ? -ENOMEM : 0;
	print_escaped(out, life->comm);
	fprintf(out, ";[%s]", what);
	return fclose(out) || !text ? -ENOMEM : add(lines, text, ns);
}

static int most_first(struct line *left, struct line *right)
{
	return order_of(right->ns, left->ns) ?: strcmp(left->text, right->text);
}

int wall_folded(const struct wall *w)
{
	struct line *lines = NULL, *line, *next;
	struct wall_sums sums;
	int error = wall_sums_make(&sums, w);

	if (error)
		return error;
	for (uint32_t number = 1; number <= w->nr_keys && !error; number++)
		for (int state = 0; state < NR_WALL_STATES && !error; state++)
			if (wall_key(w, number) && sums.keys[number].ns[state])
				error = add_key(&lines, w, wall_key(w, number), state,
						sums.keys[number].ns[state]);
	for (size_t i = 0; i < w->nr_lives && !error; i++) {
		error = add_rest(&lines, &w->lives[i], "running", sums.lives[i].unsampled_ns);
		if (!error)
			error = add_rest(&lines, &w->lives[i], "lost", sums.lives[i].ns[WALL_LOST]);
	}
	HASH_SORT(lines, most_first);
	HASH_ITER(hh, lines, line, next) {
		if (!error)
			fprintf(w->writer.out, "%s %" PRIu64 "\n", line->text, (line->ns + 500) / 1000);
		HASH_DEL(lines, line);
		free(line->text);
		free(line);
	}
	wall_sums_free(&sums);
	return error;
}
