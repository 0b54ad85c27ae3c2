// SPDX-License-Identifier: GPL-2.0-or-later
#include "flame/folded.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Takes the annotation off a name. */
static enum frame_kind take_kind(char *name, bool kernel)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} annotations[] = { { "_[k]", KIND_KERNEL },
			    { "_[j]", KIND_JIT },
			    { "_[i]", KIND_INLINED } };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(annotations) / sizeof(annotations[0]); i++) {
		size_t suffix = strlen(annotations[i].suffix);

		if (length <= suffix || strcmp(name + length - suffix, annotations[i].suffix))
			continue;
		name[length - suffix] = 0;
		return annotations[i].kind;
	}
	return kernel ? KIND_KERNEL : KIND_USER;
}

/* Cuts the count off the line. False: there is none. */
static bool take_count(char *line, uint64_t *count)
{
	char *end = line + strlen(line), *digits;

	while (end > line && isspace((unsigned char)end[-1]))
		*--end = 0;
	for (digits = end; digits > line && isdigit((unsigned char)digits[-1]);)
		digits--;
	if (digits == end || digits <= line + 1 || !isblank((unsigned char)digits[-1]))
		return false;
	errno = 0;
	*count = strtoull(digits, NULL, 10);
	digits[-1] = 0;
	return !errno;
}

static int add_stack(struct flame_tree *tree, char *stack, enum flame_side side, uint64_t value)
{
	/* one more than is kept, so that it counts as left out */
	uint32_t numbers[FLAME_MAX_DEPTH + 1];
	bool kernel = false, of_waker = false;
	size_t nr = 0;
	char *name;

	while (nr <= FLAME_MAX_DEPTH && (name = strsep(&stack, ";"))) {
		struct label label = { .text = name };

		if (nr && !strcmp(name, "-")) {
			kernel = !of_waker;
			continue;
		}
		if (nr && !strcmp(name, "--")) {
			/* its stack is upside down: the kernel's frames come first, if "-" ends them */
			of_waker = true;
			kernel = stack && strstr(stack, ";-;");
			label.kind = KIND_THREAD;
		} else {
			label.kind = nr ? take_kind(name, kernel) : KIND_THREAD;
		}
		if (labels_add(tree->labels, &label, &numbers[nr++]))
			return -ENOMEM;
	}
	return flame_tree_add(tree, numbers, nr, side, value);
}

/*
 * Reads a line without its end. -ENODATA: there is none; -EMSGSIZE: it was too long, and is skipped
 */
static int read_line(FILE *in, char *line)
{
	size_t length = 0;
	int c;

	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (length < MAX_LINE_BYTES - 1)
			line[length] = c ? c : ' ';
		length++;
	}
	if (c == EOF && !length)
		return -ENODATA;
	line[length < MAX_LINE_BYTES ? length : MAX_LINE_BYTES - 1] = 0;
	return length < MAX_LINE_BYTES ? 0 : -EMSGSIZE;
}

int folded_read(FILE *in, struct flame_tree *tree, enum flame_side side, uint64_t scale,
		struct folded_count *count)
{
	char *line = malloc(MAX_LINE_BYTES);
	int read, error = line ? 0 : -ENOMEM;

	errno = 0;
	while (!error && (read = read_line(in, line)) != -ENODATA) {
		uint64_t value;

		if (read || !take_count(line, &value)) {
			count->bad_lines += read || line[strspn(line, " \t\r")];
			continue;
		}
		error = add_stack(tree, line, side, value * scale);
		if (!error)
			error = flame_tree_bound(tree);
		count->stacks++;
		count->value += value;
	}
	free(line);
	if (!error && ferror(in))
		error = errno ? -errno : -EIO;
	return error;
}
