// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_unwind.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "bpf_slabs.h"
#include "bpf_tables.h"

struct known_process {
	pid_t pid;
	struct eh_image image;
	loc_t loc;		/* of its struct eh_process */
	size_t size;
	struct proc_maps maps;	/* as published */
	UT_hash_handle hh;
};

struct unwinder {
	struct modules *modules;
	struct slabs *slabs;
	const struct bpf_program *list_tasks;
	int procs_fd;
	struct known_process *processes;
	uint32_t generation;
	struct unwinder_counts counts;
};

/* ---- tasks ---- */

struct task_list {
	struct task_record *tasks;
	size_t nr;
};

/* the tasks with this thread ID, or all of them (0), through the program's iterator */
static int list_tasks(const struct unwinder *u, pid_t tid, struct task_list *list)
{
	union bpf_iter_link_info info = { .task.tid = tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(u->list_tasks, tid ? &options : NULL);
	size_t used = 0, max = 0;
	char *bytes = NULL;
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
		if (used == max) {
			char *more = realloc(bytes, max = max ? max * 2 : 4096);

			if (!more) {
				free(bytes);
				close(fd);
				return -ENOMEM;
			}
			bytes = more;
		}
		done = read(fd, bytes + used, max - used);
	} while (done > 0 || (done < 0 && errno == EINTR && !(done = 0)));
	close(fd);
	if (done < 0) {
		free(bytes);
		return -errno;
	}
	*list = (struct task_list){ .tasks = (struct task_record *)bytes, .nr = used / sizeof(struct task_record) };
	return 0;
}

static int find_image(const struct unwinder *u, pid_t pid, struct eh_image *image)
{
	struct task_list list;
	int error = list_tasks(u, pid, &list);

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

/* ---- files ---- */

static struct eh_mapping published_mapping(struct unwinder *u, pid_t tid, const struct proc_mapping *mapping)
{
	struct eh_mapping published = {
		.start = mapping->start, .end = mapping->end, .file_offset = mapping->file_offset,
	};
	struct unwind_table table;
	struct module *module;

	if (!mapping->inode && strcmp(mapping->path, "[vdso]"))
		return published;
	if (modules_find(u->modules, tid, mapping, &module, &table))
		return published;
	published.module_id = module->id;
	if (table.nr_pages) {
		module->error = upload_table(u->slabs, module->id, &table, &module->loc);
		if (!module->error) {
			u->counts.rows += table.nr_rows;
			u->counts.table_bytes += unwind_table_bytes(&table);
		}
		unwind_table_free(&table);
	}
	published.module = module->loc;
	return published;
}

/* ---- processes ---- */

static bool is_published(const struct known_process *known, const struct eh_image *image, const struct proc_maps *maps)
{
	if (!known || !known->loc || memcmp(&known->image, image, sizeof(*image)) || known->maps.nr != maps->nr)
		return false;
	for (size_t i = 0; i < maps->nr; i++) {
		const struct proc_mapping *old = &known->maps.mappings[i], *now = &maps->mappings[i];

		if (old->start != now->start || old->end != now->end || old->file_offset != now->file_offset ||
		    old->dev != now->dev || old->inode != now->inode)
			return false;
	}
	return true;
}

/* a power of two: so sized, what one list leaves another can use */
static size_t list_bytes(size_t nr)
{
	size_t wanted = sizeof(struct eh_process) + nr * sizeof(struct eh_mapping), size = 256;

	while (size < wanted)
		size *= 2;
	return size;
}

static int publish(struct unwinder *u, struct known_process *process, const struct proc_maps *maps)
{
	size_t nr = maps->nr < MAX_MAPPINGS ? maps->nr : MAX_MAPPINGS, size = list_bytes(nr);
	struct eh_process *written;
	loc_t loc = slabs_alloc(u->slabs, size);
	uint32_t generation;
	__u64 handle;

	if (!loc)
		return -errno;
	if (!++u->generation)
		u->generation = 1;
	generation = u->generation;
	written = slabs_at(u->slabs, loc);
	__atomic_store_n(&written->generation, 0, __ATOMIC_SEQ_CST);
	written->image = process->image;
	written->nr_mappings = nr;
	for (size_t i = 0; i < nr; i++)
		written->mappings[i] = published_mapping(u, maps->tid, &maps->mappings[i]);
	__atomic_store_n(&written->generation, generation, __ATOMIC_SEQ_CST);

	handle = HANDLE(loc, generation);
	if (bpf_map_update_elem(u->procs_fd, &process->image.tgid, &handle, BPF_ANY)) {
		int error = -errno;

		slabs_release(u->slabs, loc, size);
		return error;
	}
	slabs_release(u->slabs, process->loc, process->size);
	process->loc = loc;
	process->size = size;
	return 0;
}

static int refresh(struct unwinder *u, pid_t pid, const struct eh_image *image)
{
	struct known_process *process;
	struct proc_maps maps;
	int error;

	u->counts.refreshes++;
	error = proc_maps_read(&maps, pid);
	if (!error && !maps.nr) {	/* a zombie, or a kernel thread */
		proc_maps_free(&maps);
		error = -ESRCH;
	}
	if (error)
		return error;
	HASH_FIND_INT(u->processes, &pid, process);
	if (!is_published(process, image, &maps)) {
		if (!process) {
			process = calloc(1, sizeof(*process));
			if (!process) {
				proc_maps_free(&maps);
				return -ENOMEM;
			}
			process->pid = pid;
			HASH_ADD_INT(u->processes, pid, process);
			u->counts.processes++;
		}
		process->image = *image;
		error = publish(u, process, &maps);
		proc_maps_free(&process->maps);
		process->maps = maps;
		if (error)	/* so that the next refresh tries again */
			process->image.exec_id = ~process->image.exec_id;
	} else {
		proc_maps_free(&maps);
	}
	return error;
}

int unwinder_refresh(struct unwinder *u, pid_t pid)
{
	struct eh_image before, after;
	int error = find_image(u, pid, &before);

	if (error)
		return error;
	for (int tries = 0; tries < 3; tries++) {
		error = refresh(u, pid, &before);
		if (error || find_image(u, pid, &after))
			return error;
		if (!memcmp(&before, &after, sizeof(before)))
			return 0;
		before = after;		/* it called exec meanwhile: whose mappings were read? */
	}
	return -EAGAIN;
}

int unwinder_refresh_all(struct unwinder *u)
{
	struct task_list list;
	int error = list_tasks(u, 0, &list);

	if (error)
		return error;
	for (size_t i = 0; i < list.nr && !error; i++) {
		const struct task_record *task = &list.tasks[i];

		if (task->kernel_thread || task->pid != task->tid)
			continue;
		error = refresh(u, task->pid, &task->image);
		if (error != -ENOMEM)	/* it vanished, or is not ours to look at */
			error = 0;
	}
	free(list.tasks);
	return error;
}

void unwinder_forget(struct unwinder *u, pid_t pid)
{
	struct known_process *process;

	HASH_FIND_INT(u->processes, &pid, process);
	if (!process)
		return;
	bpf_map_delete_elem(u->procs_fd, &process->image.tgid);
	slabs_release(u->slabs, process->loc, process->size);
	HASH_DEL(u->processes, process);
	proc_maps_free(&process->maps);
	free(process);
}

/* ---- the whole ---- */

int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	struct task_list tasks;
	int error;

	if (!u)
		return -ENOMEM;
	u->modules = modules;
	u->list_tasks = bpf_object__find_program_by_name(object, "list_tasks");
	u->procs_fd = bpf_object__find_map_fd_by_name(object, "procs");
	error = u->list_tasks && u->procs_fd >= 0 ? 0 : -ENOENT;
	if (!error)
		error = slabs_new(&u->slabs, bpf_object__find_map_fd_by_name(object, "slabs"));
	if (!error)
		error = list_tasks(u, getpid(), &tasks);
	if (error) {
		unwinder_free(u);
		return error;
	}
	free(tasks.tasks);
	*unwinder = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	struct known_process *process, *next;

	if (!u)
		return;
	HASH_ITER(hh, u->processes, process, next) {
		HASH_DEL(u->processes, process);
		proc_maps_free(&process->maps);
		free(process);
	}
	slabs_free(u->slabs);
	free(u);
}

struct unwinder_counts unwinder_counts(const struct unwinder *u)
{
	struct unwinder_counts counts = u->counts;
	size_t used;

	slabs_usage(u->slabs, &used, &counts.slab_bytes);
	for (size_t id = 1; id <= modules_count(u->modules); id++)
		counts.files_without_table += modules_get(u->modules, id)->loc == 0;
	return counts;
}
