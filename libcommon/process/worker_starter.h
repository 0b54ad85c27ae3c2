/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that starts workers. It was forked when the tool was small, and so a worker that is started later inherits
 * neither the tool's memory, page by page as the tool changes it, nor what is in it. It reads nothing of others.
 */
#ifndef EHPERF_PROCESS_WORKER_STARTER_H
#define EHPERF_PROCESS_WORKER_STARTER_H

#include <stddef.h>
#include <sys/types.h>

#include "process/worker_child.h"

struct worker_starter {
	pid_t pid;	/* 0: none */
	int fd;
};

/* Workers have a copy of what their kind's arg points to as it is now. 0 or -errno */
int worker_starter_begin(struct worker_starter *starter);
/* A new child of the caller, with its end of the socket, and a memfd as its area. Its PID, or -errno */
pid_t worker_starter_fork(const struct worker_starter *starter, const struct worker_kind *kind, int socket, int area);
/* Those whom it has started live on. */
void worker_starter_end(struct worker_starter *starter);

#endif
