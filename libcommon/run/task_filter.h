/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tasks are measured: passes options on to the filters of bpf/task.bpf.h. Errors end the
 * program.
 */
#ifndef EHPERF_RUN_TASK_FILTER_H
#define EHPERF_RUN_TASK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/cpu_set.h"
#include "run/cli.h"

struct bpf_object;

/* Each member that is set excludes the tasks that do not match; {}: all tasks. */
struct task_filter {
	struct id_list pids, tids;
	bool children; /* also the descendants of `pids` that are forked from now on */
	bool only_user_threads, only_kernel_threads;
	const char *comm;        /* NULL: any */
	uint64_t cgroup;         /* its ID; 0: any */
	const char *cgroup_path; /* as given */
	struct cpu_set cpus;     /* on which tasks are measured; empty: all */
};

/* most bytes of the name of a process or thread */
#define TASK_NAME_BYTES 15

/*
 * The argument of -p, "812,nginx": process IDs and names; a name selects all processes that have
 * exactly this name now. The argument of -t: thread IDs. Ends the program if one of them does not
 * exist.
 */
void task_filter_take_pids(struct task_filter *filter, const char *arg);
void task_filter_take_tids(struct task_filter *filter, const char *arg);

/* the process that a thread belongs to, 0 if the thread is gone */
pid_t task_process_of(pid_t tid);

/*
 * Writes the filters into an object that is not loaded yet. command: a command and its descendants
 * are measured
 */
void task_filter_configure(struct bpf_object *object, const struct task_filter *filter,
			   bool command);

/* Are some tasks excluded? */
bool task_filter_is_set(const struct task_filter *filter);
/* May the idle task match? */
bool task_filter_has_idle(const struct task_filter *filter);

/* Lists the processes and threads in a loaded object. */
void task_filter_list(struct bpf_object *object, const struct task_filter *filter);
/* Lists the command's process once it executes its program. */
void task_filter_await(struct bpf_object *object, pid_t pid);

/* the processes of -p, and those of -t's threads that have not ended: a malloc()ed array */
pid_t *task_filter_processes(const struct task_filter *filter, size_t *nr);

/*
 * The wanted CPUs that are online; all that are online, if `wanted` is empty. Ends the program if
 * there are none.
 */
struct cpu_set cpus_online(const struct cpu_set *wanted);

#endif
