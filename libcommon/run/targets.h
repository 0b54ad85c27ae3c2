/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of -p and the threads of -t: once the last one has ended, there is nothing more to measure. */
#ifndef EHPERF_RUN_TARGETS_H
#define EHPERF_RUN_TARGETS_H

#include <poll.h>
#include <stdbool.h>

#include "run/task_filter.h"

struct targets {
	struct target_list {
		const struct id_list *list;
		bool threads;
		pid_t *pids;			/* the process of each */
		struct pollfd *fds;		/* its pidfd, -1: the target has ended */
		bool ended;			/* all have */
	} of[2];
};

void targets_open(struct targets *targets, const struct task_filter *filter);
/* Have all processes, or all threads, ended? Never, if there are none */
bool targets_ended(struct targets *targets);
/* Says who has ended, if all have. */
void targets_close(struct targets *targets);

#endif
