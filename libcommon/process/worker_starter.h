/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that starts workers. It was forked when the tool was small, and so a worker that is started later inherits
 * neither the tool's memory, page by page as the tool changes it, nor what is in it. It reads nothing of others.
 */
#ifndef EHPERF_PROCESS_WORKER_STARTER_H
#define EHPERF_PROCESS_WORKER_STARTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/worker_child.h"

struct worker_starter {
	pid_t pid;	/* 0: none */
	int fd;
	pid_t *owed;	/* whose PID it was asked for, and has not told yet; NULL: nobody's */
	pid_t nobodys;
	uint64_t asked_ns;
};

/* Workers have a copy of what their kind's arg points to as it is now. 0 or -errno */
int worker_starter_begin(struct worker_starter *starter);
/*
 * Asks for a new child of the caller, with its end of the socket, and a memfd as its area. *pid gets its PID, or -errno, from
 * worker_starter_take() or worker_starter_end(). 0; -EAGAIN: one is still owed; -ECHILD: the starter is gone
 */
int worker_starter_ask(struct worker_starter *starter, const struct worker_kind *kind, int socket, int area, pid_t *pid);
/* Takes what is owed. 0; -EAGAIN: it has not come in this time; -ECHILD: it will not come */
int worker_starter_take(struct worker_starter *starter, int ms);
/* Who has asked for this does not want it any more: the child is ended when its PID comes. */
void worker_starter_cancel(struct worker_starter *starter, const pid_t *pid);
/* Those whom it has started live on. */
void worker_starter_end(struct worker_starter *starter);

#endif
