// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tasks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"

/* each read() has room for at least this many bytes */
#define MIN_READ 4096

int bpf_tasks_read(const struct bpf_program *iterator, pid_t tid, void **bytes, size_t *size)
{
	union bpf_iter_link_info info = { .task.tid = tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(iterator, tid ? &options : NULL);
	size_t used = 0, room = 0;
	char *all = NULL;
	ssize_t done = 0;
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link);
	if (fd < 0)
		return fd;
	do {
		used += done;
		if (array_reserve(&all, &room, used + MIN_READ)) {
			free(all);
			close(fd);
			return -ENOMEM;
		}
		done = read(fd, all + used, room - used);
	} while (done > 0 || (done < 0 && errno == EINTR && !(done = 0)));
	close(fd);
	if (done < 0) {
		free(all);
		return -errno;
	}
	*bytes = all;
	*size = used;
	return 0;
}

int bpf_tasks_read_named(const struct bpf_object *object, const char *iterator, void **bytes,
			 size_t *size)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, iterator);

	return program ? bpf_tasks_read(program, 0, bytes, size) : -ENOENT;
}

int bpf_tasks_list(const struct bpf_program *iterator, pid_t tid, struct task_list *list)
{
	size_t size;
	void *bytes;
	int error = bpf_tasks_read(iterator, tid, &bytes, &size);

	if (!error)
		*list = (struct task_list){ .tasks = bytes,
					    .nr = size / sizeof(struct task_record) };
	return error;
}

int bpf_tasks_begin(const struct bpf_object *object)
{
	const struct bpf_program *iterator = bpf_object__find_program_by_name(object, "list_tasks");
	struct task_list list;
	int error = iterator ? bpf_tasks_list(iterator, getpid(), &list) : -ENOENT;

	if (!error)
		free(list.tasks);
	return error;
}

int bpf_tasks_image(const struct bpf_program *iterator, pid_t pid, struct process_image *image)
{
	struct task_list list;
	int error = bpf_tasks_list(iterator, pid, &list);

	if (error)
		return error == -EINVAL ? -ESRCH : error;
	error = -ESRCH;
	for (size_t i = 0; i < list.nr; i++) {
		if (list.tasks[i].pid == (__u32)pid) {
			*image = list.tasks[i].image;
			error = 0;
			break;
		}
	}
	free(list.tasks);
	return error;
}
