/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks there are, by the iterator of bpf/task.bpf.h: what /proc does not tell, and PIDs as the caller knows them. */
#ifndef EHPERF_BPF_TASKS_H
#define EHPERF_BPF_TASKS_H

#include <stddef.h>
#include <sys/types.h>

#include "processes_abi.h"

struct bpf_object;
struct bpf_program;

struct task_list {
	struct task_record *tasks;	/* to be freed */
	size_t nr;
};

/* To be called before all others: from then on PIDs are those of the caller's namespace. 0 or -errno */
int bpf_tasks_begin(const struct bpf_object *object);

/* What a task iterator writes of the thread with this ID, or of all of them (0): *bytes is to be freed. 0 or -errno */
int bpf_tasks_read(const struct bpf_program *iterator, pid_t tid, void **bytes, size_t *size);

/* the tasks with this thread ID, or all of them (0). 0 or -errno, -EINVAL where there is none */
int bpf_tasks_list(const struct bpf_program *iterator, pid_t tid, struct task_list *list);

/* a process's image as it is now. 0, -ESRCH or -errno */
int bpf_tasks_image(const struct bpf_program *iterator, pid_t pid, struct eh_image *image);

#endif
