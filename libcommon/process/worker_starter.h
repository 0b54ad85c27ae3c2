/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that starts workers. It is forked before the tool has read anything. So a worker that
 * is started later has no copy of the tool's memory: this would take memory as the tool changes its
 * pages, and an attacker could read it. The starter itself reads only the tool's messages.
 */
#ifndef EHPERF_PROCESS_WORKER_STARTER_H
#define EHPERF_PROCESS_WORKER_STARTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/priority.h"
#include "process/worker_child.h"

struct worker_starter {
	pid_t pid; /* 0: none */
	int fd;
	/* where the PID goes that the starter has not told yet; NULL: none is awaited */
	pid_t *awaited;
	pid_t unwanted; /* awaited points here after worker_starter_cancel() */
	uint64_t asked_ns;
	struct priority_watch priority;
};

/* Starts it. 0 or -errno */
int worker_starter_begin(struct worker_starter *starter);
/*
 * Asks for a worker: a new child of the caller, with its end of the socket, and a memfd as its
 * area. worker_starter_take() or worker_starter_end() sets *pid to its PID, or -errno. 0; -EAGAIN:
 * another PID is still awaited; -ECHILD: the starter is gone
 */
int worker_starter_ask(struct worker_starter *starter, const struct worker_kind *kind, int socket,
		       int area, pid_t *pid);
/*
 * Takes the awaited PID, if there is one. 0; -EAGAIN: it has not come within ms; -ECHILD: it will
 * not come
 */
int worker_starter_take(struct worker_starter *starter, int ms);
/*
 * The caller does not want the worker any more that was to be told in *pid: it is ended when its
 * PID comes.
 */
void worker_starter_cancel(struct worker_starter *starter, const pid_t *pid);
/*
 * A starter's, or a worker's: proc_pid_stat(5)'s letter; 0: it is gone. 'R': it is the machine that
 * is slow
 */
char worker_state(pid_t pid);
/* Ends the starter; the workers that it has started go on. */
void worker_starter_end(struct worker_starter *starter);

#endif
