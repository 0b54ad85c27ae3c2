// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/events_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dwarf/cursor.h"

/* of an event: those of the tool stay small, whatever it is told */
#define MAX_TEXT  (64 << 10)
#define MAX_EXITS 1024

/* followed by nr events */
struct head {
	uint64_t bytes; /* of all */
	uint64_t nr, nr_left_out, nr_mangled;
	struct events_message message;
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

static bool is_too_long(const struct event *event)
{
	return strlen(event->name) > MAX_TEXT || strlen(event->arguments) > MAX_TEXT ||
	       event->exits.nr > MAX_EXITS;
}

bool events_message_write(const struct events_message *message, const struct events *events,
			  char **bytes, size_t *nr)
{
	static struct head head;
	FILE *to = open_memstream(bytes, nr);
	bool failed;

	if (!to)
		return false;
	head = (struct head){
		.nr_left_out = events->nr_left_out,
		.nr_mangled = events->nr_mangled,
		.message = *message,
	};
	fwrite(&head, sizeof(head), 1, to);
	for (size_t i = 0; i < events->nr && !message->error; i++) {
		bool kept = !is_too_long(&events->events[i]);

		head.nr += kept;
		head.nr_left_out += !kept;
		if (kept)
			write_event(to, &events->events[i]);
	}
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
	uint64_t all = 0;

	if (nr >= sizeof(struct head))
		memcpy(&all, bytes, sizeof(all));
	return all >= nr && all <= EVENTS_MESSAGE_MAX ? all : 0;
}

/* The memory for so many more of something. False: there is none left */
static bool take(size_t *room, uint64_t nr, size_t bytes)
{
	if (nr > *room / bytes)
		return false;
	*room -= nr * bytes;
	return true;
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

static int read_event(struct cursor *c, struct event *event, size_t *room)
{
	struct one one = {};
	const uint8_t *at = cursor_bytes(c, sizeof(one));

	if (!at)
		return -EBADMSG;
	memcpy(&one, at, sizeof(one));
	if (one.name_bytes > MAX_TEXT || one.arguments_bytes > MAX_TEXT || one.nr_exits > MAX_EXITS)
		return -EBADMSG;
	/* arrays have room for twice as many */
	if (!take(room, 1, 2 * sizeof(*event) + strlen(event->path)) ||
	    !take(room, one.nr_exits, 2 * sizeof(struct function_exit)) ||
	    !take(room, one.name_bytes, 1) || !take(room, one.arguments_bytes, 1))
		return -EFBIG;
	event->file_offset = one.file_offset;
	/* the kernel writes there */
	event->semaphore_offset = event->kind == EVENT_USDT ? one.semaphore_offset : 0;
	event->exits.returns_by_stack = one.returns_by_stack;
	if (read_exits(c, one.nr_exits, &event->exits))
		return -ENOMEM;
	event->name = read_text(c, one.name_bytes);
	event->arguments = read_text(c, one.arguments_bytes);
	if (!event->name || !event->arguments)
		return -ENOMEM;
	return c->bad ? -EBADMSG : 0;
}

static int read_events(struct cursor *c, uint64_t nr, struct events *events, enum event_kind kind,
		       const char *path)
{
	size_t room = EVENTS_MESSAGE_MAX;
	int error = 0;

	for (uint64_t i = 0; i < nr && !error; i++) {
		struct event event = { .kind = kind, .path = strdup(path) };

		error = event.path ? read_event(c, &event, &room) : -ENOMEM;
		error = error ?: array_reserve(&events->events, &events->room, events->nr + 1);
		if (error)
			event_free(&event);
		else
			events->events[events->nr++] = event;
	}
	return error;
}

static bool is_sound(const struct head *head)
{
	return head->message.error <= 0 && head->message.error >= -4095 &&
	       (!head->message.error || !head->nr) &&
	       memchr(head->message.problem.text, 0, sizeof(head->message.problem.text)) &&
	       debug_key_is_sound(&head->message.debug);
}

int events_message_read(struct events_message *message, struct events *events, enum event_kind kind,
			const char *path, const char *bytes, size_t nr)
{
	static struct head head;
	struct cursor c = cursor_over(bytes, nr);
	const uint8_t *at = cursor_bytes(&c, sizeof(head));
	int error;

	*events = (struct events){};
	if (!at)
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	if (!is_sound(&head))
		return -EBADMSG;
	error = read_events(&c, head.nr, events, kind, path);
	if (error) {
		events_free(events);
		return error;
	}
	events->nr_left_out = head.nr_left_out;
	events->nr_mangled = head.nr_mangled;
	*message = head.message;
	return 0;
}
