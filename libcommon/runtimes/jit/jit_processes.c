// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jit_processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/search.h"

#define MAX_REGIONS 1024	/* of a process, that are remembered */

struct region {
	uint64_t start, end;
	char name[80];
};

struct jit_process {
	pid_t pid;
	struct region *regions;	/* those that were asked for */
	size_t nr_regions, regions_room;
	int error;		/* jit_files_open()'s; not 0: files is not valid */
	struct jit_files files;
	UT_hash_handle hh;
};

struct jit_processes {
	struct jit_process *by_pid;
	struct proc_maps maps;	/* as they were at the last update, or at the first question for a region since: */
	pid_t maps_of;		/* of this process; 0: none */
};

struct jit_processes *jit_processes_new(void)
{
	return calloc(1, sizeof(struct jit_processes));
}

void jit_processes_free(struct jit_processes *processes)
{
	struct jit_process *process, *next;

	if (!processes)
		return;
	HASH_ITER(hh, processes->by_pid, process, next) {
		HASH_DEL(processes->by_pid, process);
		if (!process->error)
			jit_files_close(&process->files);
		free(process->regions);
		free(process);
	}
	proc_maps_free(&processes->maps);
	free(processes);
}

static int open_files(struct jit_process *process)
{
	struct proc_maps maps = {};
	int error = proc_maps_read(&maps, process->pid);

	if (!error)
		error = jit_files_open(&process->files, process->pid, &maps);
	proc_maps_free(&maps);
	return error == -ESRCH ? jit_files_open_dead(&process->files, process->pid) : error;
}

int jit_processes_see(struct jit_processes *processes, pid_t pid)
{
	struct jit_process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	if (process)
		return process->error;
	if (HASH_COUNT(processes->by_pid) >= JIT_MAX_PROCESSES)
		return -ENOSPC;
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->error = open_files(process);
	HASH_ADD_INT(processes->by_pid, pid, process);
	return process->error;
}

int jit_processes_update(struct jit_processes *processes, pid_t pid)
{
	struct jit_process *process, *other, *next;
	size_t bytes = 0;

	processes->maps_of = 0;
	HASH_FIND_INT(processes->by_pid, &pid, process);
	if (!process || process->error)
		return 0;
	HASH_ITER(hh, processes->by_pid, other, next)
		if (!other->error)
			bytes += jit_names_bytes(&other->files.names);
	return bytes > JIT_MAX_BYTES ? 0 : jit_files_update(&process->files);
}

/* ---- regions ---- */

static const struct region *known_region(const struct jit_process *process, uint64_t addr)
{
	for (size_t i = process->nr_regions; i-- > 0;)	/* the last one: it may have replaced another */
		if (addr >= process->regions[i].start && addr < process->regions[i].end)
			return &process->regions[i];
	return NULL;
}

/* NULL: there is none, or the process has exited */
static const struct proc_mapping *mapping_at(struct jit_processes *processes, pid_t pid, uint64_t addr)
{
	struct proc_maps *maps = &processes->maps;
	size_t nr;

	if (processes->maps_of != pid) {
		proc_maps_free(maps);
		*maps = (struct proc_maps){};
		if (proc_maps_read(maps, pid))
			maps->nr = 0;
		processes->maps_of = pid;
	}
	nr = count_up_to(maps->mappings, maps->nr, start, addr);
	return nr && addr < maps->mappings[nr - 1].end ? &maps->mappings[nr - 1] : NULL;
}

static void name_region(struct region *region, const char *path)
{
	int length = proc_maps_path_length(path);
	bool memfd = !strncmp(path, "/memfd:", strlen("/memfd:"));

	if (!length)
		strcpy(region->name, "[anon]");
	else if (path[0] == '[')
		snprintf(region->name, sizeof(region->name), "%s", path);
	else
		snprintf(region->name, sizeof(region->name), "[%.*s]", length - memfd, path + memfd);
}

const char *jit_processes_region(struct jit_processes *processes, pid_t pid, uint64_t addr)
{
	const struct proc_mapping *mapping;
	const struct region *known;
	struct jit_process *process;
	struct region *added;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	known = process ? known_region(process, addr) : NULL;
	if (known || !process)
		return known ? known->name : NULL;
	mapping = mapping_at(processes, pid, addr);
	if (!mapping || process->nr_regions == MAX_REGIONS ||
	    array_reserve(&process->regions, &process->regions_room, process->nr_regions + 1))
		return NULL;
	added = &process->regions[process->nr_regions++];
	added->start = mapping->start;
	added->end = mapping->end;
	name_region(added, mapping->path);
	return added->name;
}

/* ---- names ---- */

enum jit_found jit_processes_find(struct jit_processes *processes, pid_t pid, uint64_t addr, uint64_t time_ns,
				  const char **name, uint64_t *start)
{
	struct jit_process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	if (!process || process->error)
		return JIT_NOT_SEEN;
	if (!jit_files_any(&process->files))
		return JIT_NO_FILES;
	*name = jit_names_find(&process->files.names, addr, time_ns, start);
	return *name ? JIT_FOUND : JIT_NOT_IN_FILES;
}
