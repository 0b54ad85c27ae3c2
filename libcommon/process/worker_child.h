/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's own side: what it gives up before it touches anything foreign, and its work. */
#ifndef EHPERF_PROCESS_WORKER_CHILD_H
#define EHPERF_PROCESS_WORKER_CHILD_H

#include <stddef.h>

#include "process/workers.h"

/*
 * In a new child process: keeps the socket as its only file, gives up all rights but to read, and does jobs
 * until the tool ends.
 */
_Noreturn void worker_child_run(int socket, const struct worker_limits *limits, worker_fn *work, void *arg,
				void *area, size_t room);

#endif
