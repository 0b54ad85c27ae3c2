/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that programs are attached to. */
#ifndef EHPERF_PROCESS_EVENT_H
#define EHPERF_PROCESS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

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
	size_t nr_mangled; /* names of a pattern's file that were not demangled, and so not compared */
	size_t nr_ambiguous; /* functions of a pattern that have the same name as another one */
	/*
	 * The file of user functions and probes; 0: none. Programs are attached by this fd and not
	 * by the path, which may lead to another file by now
	 */
	int fd;
	struct timespec changed; /* the time of its last change, before it was read */
};

/* a message: why nothing was found, and what may have been meant */
struct events_problem {
	char text[EVENT_NAME_BYTES + 512];
};

void event_free(struct event *event); /* of an array */
void events_free(struct events *events);

#endif
