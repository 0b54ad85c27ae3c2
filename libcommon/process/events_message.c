// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/events_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dwarf/cursor.h"

/* followed by nr events */
struct head {
	uint64_t bytes; /* of all */
	uint64_t nr, nr_left_out;
	int64_t error;
	char problem[sizeof(((struct events_problem *)0)->text)];
};

/* followed by its exits, its name and its arguments */
struct one {
	uint64_t file_offset, semaphore_offset;
	uint64_t nr_exits, returns_by_stack;
	uint64_t name_bytes, arguments_bytes;
};

struct exit {
	uint64_t file_offset, shared;
};

/* ---- in the child ---- */

static void write_event(FILE *to, const struct event *event)
{
	const struct one one = {
		.file_offset = event->file_offset,
		.semaphore_offset = event->semaphore_offset,
		.nr_exits = event->exits.nr,
		.returns_by_stack = event->exits.returns_by_stack,
		.name_bytes = strlen(event->name),
		.arguments_bytes = strlen(event->arguments),
	};

	fwrite(&one, sizeof(one), 1, to);
	for (size_t i = 0; i < event->exits.nr; i++) {
		const struct function_exit *e = &event->exits.exits[i];

		fwrite(&(struct exit){ e->file_offset, e->shared }, sizeof(struct exit), 1, to);
	}
	fwrite(event->name, 1, one.name_bytes, to);
	fwrite(event->arguments, 1, one.arguments_bytes, to);
}

bool events_message_write(const struct events *events, int error,
			  const struct events_problem *problem, char **bytes, size_t *nr)
{
	struct head head = { .nr = events->nr, .nr_left_out = events->nr_left_out, .error = error };
	FILE *to = open_memstream(bytes, nr);
	bool failed;

	if (!to)
		return false;
	memcpy(head.problem, problem->text, sizeof(head.problem));
	fwrite(&head, sizeof(head), 1, to);
	for (size_t i = 0; i < events->nr; i++)
		write_event(to, &events->events[i]);
	failed = fflush(to) || ferror(to);
	if (fclose(to) || failed)
		return false;
	head.bytes = *nr;
	memcpy(*bytes, &head, sizeof(head));
	return true;
}

/* ---- in the tool ---- */

size_t events_message_bytes(const char *bytes, size_t nr)
{
	struct head head;

	if (nr < sizeof(head))
		return 0;
	memcpy(&head, bytes, sizeof(head));
	return head.bytes >= nr && head.bytes <= EVENTS_MESSAGE_MAX ? head.bytes : 0;
}

static int read_exits(struct cursor *c, uint64_t nr, struct function_exits *exits)
{
	for (uint64_t i = 0; i < nr && !c->bad; i++) {
		uint64_t file_offset = cursor_u64(c), shared = cursor_u64(c);

		if (array_reserve(&exits->exits, &exits->room, exits->nr + 1))
			return -ENOMEM;
		exits->exits[exits->nr++] = (struct function_exit){ file_offset, shared };
	}
	return 0;
}

/* up to the first NUL; NULL: no memory */
static char *read_text(struct cursor *c, uint64_t bytes)
{
	const uint8_t *text = cursor_bytes(c, bytes);

	return text ? strndup((const char *)text, bytes) : strdup("");
}

static int read_event(struct cursor *c, struct event *event)
{
	struct one one = {};
	const uint8_t *at = cursor_bytes(c, sizeof(one));

	if (at)
		memcpy(&one, at, sizeof(one));
	event->file_offset = one.file_offset;
	event->semaphore_offset = one.semaphore_offset;
	event->exits.returns_by_stack = one.returns_by_stack;
	if (read_exits(c, one.nr_exits, &event->exits))
		return -ENOMEM;
	event->name = read_text(c, one.name_bytes);
	event->arguments = read_text(c, one.arguments_bytes);
	if (!event->name || !event->arguments)
		return -ENOMEM;
	return c->bad ? -EBADMSG : 0;
}

int events_message_read(struct events *events, enum event_kind kind, const char *path,
			struct events_problem *problem, const char *bytes, size_t nr)
{
	struct cursor c = cursor_over(bytes, nr);
	struct head head = { .error = -EBADMSG };
	const uint8_t *at = cursor_bytes(&c, sizeof(head));
	int error = 0;

	if (at)
		memcpy(&head, at, sizeof(head));
	for (uint64_t i = 0; i < head.nr && !error; i++) {
		struct event event = { .kind = kind, .path = strdup(path) };

		error = event.path ? read_event(&c, &event) : -ENOMEM;
		error = error ?: array_reserve(&events->events, &events->room, events->nr + 1);
		if (error)
			event_free(&event);
		else
			events->events[events->nr++] = event;
	}
	if (error || head.error > 0 || head.error < -4095)
		return error ?: -EBADMSG;
	events->nr_left_out += head.nr_left_out;
	memcpy(problem->text, head.problem, sizeof(head.problem));
	problem->text[sizeof(problem->text) - 1] = 0;
	return (int)head.error;
}
