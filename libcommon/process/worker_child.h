/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's own side: what it gives up before it touches anything foreign, and its work. */
#ifndef EHPERF_PROCESS_WORKER_CHILD_H
#define EHPERF_PROCESS_WORKER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/worker_message.h"

/* In the opener: opens what the request names, which comes from the tool and may be trusted. */
typedef struct worker_file worker_open_fn(const void *request, size_t bytes);

struct worker_limits {
	unsigned sleep_ms; /* a job that sleeps longer at a stretch is given up; 0: 100 ms */
	unsigned cpu_ms;   /* a job that takes more CPU time is given up */
	size_t bytes;      /* of memory, beside the area */
	bool parent;       /* the worker may start children */
	/*
	 * it reads nothing of others, but may use the network, and write its user's files in the
	 * directory that this returns in the worker
	 */
	const char *(*writes)(void);
	bool first; /* it goes before others (process/priority.h), if the tool does */
	/* bits of owners (workers.h): if these differ, an owner's job ends another owner's worker */
	uint64_t apart;
	/* it keeps what it has read: an owner's next job waits for the worker that did the last */
	bool keeps;
	bool opens; /* it opens files for others, and passes them on with its answers */
	/*
	 * each job needs what this opens; NULL: it opens files itself, and has the rights for that
	 */
	worker_open_fn *open;
};

/*
 * In the worker: does the job whose request is in the area, and writes the answer there, `room`
 * bytes at most. Its size. *file is the job's if there is an opener, and is closed afterwards; a
 * worker that opens for others sets it
 */
typedef size_t worker_fn(void *area, size_t request_bytes, size_t room, struct worker_file *file);

struct worker_kind {
	struct worker_limits limits;
	worker_fn *work;
	size_t area_bytes;
};

/* In a worker: its .bytes */
size_t worker_child_bytes(void);

/*
 * In a new child process: keeps the socket as its only file, gives up all rights but those that it
 * needs, and does jobs until the tool ends.
 */
_Noreturn void worker_child_run(int socket, const struct worker_kind *kind, void *area);

#endif
