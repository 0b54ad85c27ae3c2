/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's own side: what it gives up before it touches anything foreign, and its work. */
#ifndef EHPERF_PROCESS_WORKER_CHILD_H
#define EHPERF_PROCESS_WORKER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct worker_limits {
	unsigned sleep_ms;	/* a job that sleeps longer at a stretch is given up; 0: 100 ms */
	unsigned cpu_ms;	/* a job that takes more CPU time is given up */
	size_t bytes;		/* of memory, beside the area */
	bool parent;		/* the worker may start children */
	bool writes;		/* it reads nothing of others, and has no opener, but may write its user's files, and use the network */
	bool first;		/* it goes before others (process/priority.h), if the tool does */
};

/*
 * In the worker: does the job whose request is in the area, and writes the answer there, `room` bytes at
 * most. Its size
 */
typedef size_t worker_fn(void *arg, void *area, size_t request_bytes, size_t room);

struct worker_kind {
	struct worker_limits limits;
	worker_fn *work;
	void *arg;
	size_t area_bytes;
};

/* the processes of a worker: the one that does the jobs, and the one that opens files for it */
enum { PARSER, OPENER, NR_WORKER_PROCESSES };
struct worker_pids {
	pid_t of[NR_WORKER_PROCESSES];	/* 0: none, or not known yet; of[PARSER] < 0: -errno */
};

/*
 * Starts the processes, whose work begins when they have given up what they do not need, and ends with the tool. The worker's end
 * of its socket is the parser's only file, besides its way to the opener. fork: as fork(2), of a child of the tool
 */
struct worker_pids worker_child_start(int socket, const struct worker_kind *kind, void *area, pid_t (*fork)(void));

#endif
