/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists tasks by the iterator of bpf/task.bpf.h: with facts that /proc lacks, and PIDs of the
 * caller's namespace.
 */
#ifndef EHPERF_KERNEL_TASKS_H
#define EHPERF_KERNEL_TASKS_H

#include <stddef.h>
#include <sys/types.h>

#include "processes_abi.h"

struct bpf_object;
struct bpf_program;

struct task_list {
	struct task_record *tasks; /* to be freed */
	size_t nr;
};

/*
 * To be called before all others: from then on PIDs are those of the caller's namespace. 0 or
 * -errno
 */
int bpf_tasks_begin(const struct bpf_object *object);

/*
 * Runs a task iterator over the thread with this ID, or over all (0): *bytes is its output, to be
 * freed. 0 or -errno
 */
int bpf_tasks_read(const struct bpf_program *iterator, pid_t tid, void **bytes, size_t *size);

/* bpf_tasks_read() over all threads, for the iterator of this name; -ENOENT: there is none */
int bpf_tasks_read_named(const struct bpf_object *object, const char *iterator, void **bytes,
			 size_t *size);

/* Lists the thread with this ID, or all (0). 0 or -errno, -EINVAL if there is no such thread */
int bpf_tasks_list(const struct bpf_program *iterator, pid_t tid, struct task_list *list);

/* Gets a process's current image. 0, -ESRCH or -errno */
int bpf_tasks_image(const struct bpf_program *iterator, pid_t pid, struct process_image *image);

#endif
