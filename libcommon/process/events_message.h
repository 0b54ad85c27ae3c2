/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a file as bytes: what a child that has read the file tells the tool. The child may have
 * been taken over by the file's author.
 */
#ifndef EHPERF_PROCESS_EVENTS_MESSAGE_H
#define EHPERF_PROCESS_EVENTS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "dwarf/debug_file.h"
#include "process/event.h"

/* bytes of a message, and of the events that it is made into */
#define EVENTS_MESSAGE_MAX ((size_t)512 << 20)

struct events_message {
	int error; /* events_find()'s: then there are no events */
	struct events_problem problem;
	/* what the file says of its debug file, where its functions' names may be; {}: nothing */
	struct debug_key debug;
};

/* *bytes is to be freed. False: no memory */
bool events_message_write(const struct events_message *message, const struct events *events,
			  char **bytes, size_t *nr);

/* How many bytes it has in all, as these first ones say; 0: they say nothing */
size_t events_message_bytes(const char *bytes, size_t nr);

/*
 * The events, which are of this kind and in the file of this path. 0; -EBADMSG: it is none that
 * events_message_write() makes; -EFBIG: they take too much memory; or -ENOMEM. With an error, there
 * are no events
 */
int events_message_read(struct events_message *message, struct events *events, enum event_kind kind,
			const char *path, const char *bytes, size_t nr);

#endif
