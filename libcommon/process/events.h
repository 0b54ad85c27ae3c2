/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that a name means: where each is, so that it can be attached to. */
#ifndef EHPERF_PROCESS_EVENTS_H
#define EHPERF_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "dwarf/symbols.h"
#include "process/event.h"

/* kinds of events, 1 << enum event_kind each */
#define EVENTS_OF_PERF   (1U << EVENT_PERF)
#define EVENTS_FUNCTIONS (1U << EVENT_USER_FUNCTION | 1U << EVENT_KERNEL_FUNCTION)
#define EVENTS_ALL       ((1U << NR_EVENT_KINDS) - 1)

struct events_search {
	pid_t pid; /* files are found as this process sees them; 0: as we do */
	const struct symbol_options *symbols;
	unsigned kinds; /* that the tool knows, for the problem's text */
	bool returns;   /* functions only, from their first byte on, and where they return */
	bool list;      /* names only: what cannot be probed is no error */
	size_t most;    /* further events are only counted */
};

/*
 * Appends all events that the name means, at least one. 0, -ENOMEM, or another error: *problem says
 * what is wrong.
 */
int events_find(struct events *events, const struct event_name *name,
		const struct events_search *search, struct events_problem *problem);
/* of struct event, for qsort() */
int event_by_name(const void *left, const void *right);

/* Was their file changed since it was read? Then the events may be elsewhere in it. */
bool events_file_changed(const struct events *events);

#endif
