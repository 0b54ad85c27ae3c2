/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of -p, with --children their descendants, the threads of -t, and the cgroup of
 * --cgroup. When the last process or thread has ended, or the cgroup was removed, there is nothing
 * left to measure.
 */
#ifndef EHPERF_RUN_TARGETS_H
#define EHPERF_RUN_TARGETS_H

#include <poll.h>
#include <stdbool.h>

#include "run/task_filter.h"

struct bpf_object;

struct targets {
	struct target_list {
		const struct id_list *list;
		bool threads;
		pid_t *pids;        /* the process of each */
		struct pollfd *fds; /* its pidfd, -1: the target has ended */
		bool ended;         /* all have ended, with --children also their descendants */
	} of[2];
	const struct bpf_object *forks; /* its list has the descendants; NULL: without --children */
	const struct task_filter *filter;
	uint64_t cgroup_look_ns; /* CLOCK_MONOTONIC: when the cgroup is looked at next */
	bool cgroup_ended;
	unsigned nr_empty_looks; /* so many looks at that list in a row found no live process */
};

/* object: with the lists of bpf/task.bpf.h; may be NULL without filter->children */
void targets_open(struct targets *targets, const struct task_filter *filter,
		  const struct bpf_object *object);
/* Have all processes, or all threads, ended, or was the cgroup removed? Never, if there are none */
bool targets_ended(struct targets *targets);
/* Prints which targets have ended, if all have. */
void targets_close(struct targets *targets);

#endif
