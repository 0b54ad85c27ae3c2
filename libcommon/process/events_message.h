/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a file as bytes: what a child that has read the file tells the tool. The child may have
 * been taken over by the file's author.
 */
#ifndef EHPERF_PROCESS_EVENTS_MESSAGE_H
#define EHPERF_PROCESS_EVENTS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "process/event.h"

#define EVENTS_MESSAGE_MAX ((size_t)512 << 20) /* bytes; no more are read */

/*
 * The events, or why there are none: error as of events_find(). *bytes is to be freed. False: no
 * memory
 */
bool events_message_write(const struct events *events, int error,
			  const struct events_problem *problem, char **bytes, size_t *nr);

/* How many bytes it has in all, as these first ones say; 0: they say nothing */
size_t events_message_bytes(const char *bytes, size_t nr);

/*
 * Appends the events, which are of this kind and in the file of this path. -EBADMSG, with *problem
 * as it was: it is no message; -ENOMEM; else events_find()'s error in the child
 */
int events_message_read(struct events *events, enum event_kind kind, const char *path,
			struct events_problem *problem, const char *bytes, size_t nr);

#endif
