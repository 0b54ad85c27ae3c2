/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that a name means: where each is, so that it can be attached to. */
#ifndef EHPERF_PROCESS_EVENTS_H
#define EHPERF_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "dwarf/symbols.h"
#include "process/event_name.h"
#include "process/perf_name.h"
#include "table/function_exits.h"

struct event {
	enum event_kind kind;
	char *name; /* in full: u:/usr/bin/python3.11:PyEval_EvalCode */
	/*
	 * the file of a user function or a probe, for people; FUNCTION or MODULE:FUNCTION of the
	 * kernel; or ""
	 */
	char *path;
	uint64_t file_offset, semaphore_offset; /* in that file; semaphore_offset may be 0 */
	char *arguments; /* of a probe, as its note has them: "-4@%eax 8@16(%rsp)" */
	int tracepoint;  /* its ID */
	/* of a user function, where events_search.returns asks for them */
	struct function_exits exits;
	struct perf_encoding perf;
	bool refused; /* the kernel allows no probe of its return: nor is it to be probed */
};

struct events {
	struct event *events;
	size_t nr, room;
	/* functions of a pattern that cannot be probed, or whose returns cannot be seen */
	size_t nr_left_out;
	size_t nr_ambiguous; /* functions of a pattern that have the same name as another one */
	/*
	 * The file of user functions and probes; 0: none. Programs are attached by this fd and not
	 * by the path, which may lead to another file by now
	 */
	int fd;
	struct timespec changed; /* the time of its last change, before it was read */
};

/* kinds of events, 1 << enum event_kind each */
#define EVENTS_OF_PERF   (1U << EVENT_PERF)
#define EVENTS_FUNCTIONS (1U << EVENT_USER_FUNCTION | 1U << EVENT_KERNEL_FUNCTION)
#define EVENTS_ALL       ((1U << NR_EVENT_KINDS) - 1)

/* a message: why nothing was found, and what may have been meant */
struct events_problem {
	char text[EVENT_NAME_BYTES + 512];
};

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
void events_free(struct events *events);

/* Was their file changed since it was read? Then the events may be elsewhere in it. */
bool events_file_changed(const struct events *events);

#endif
