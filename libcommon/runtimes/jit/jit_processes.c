// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jit_processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "process/proc_maps.h"

#define MAX_REGIONS 1024 /* of a process, that are remembered */

struct region {
	uint64_t start, end;
	char name[80];
};

struct jit_process {
	pid_t pid;
	struct region *regions; /* those that were asked for */
	size_t nr_regions, regions_room;
	uint64_t started;
	int error; /* jit_files_open()'s */
	struct jit_files files;
	UT_hash_handle hh;
};

struct jit_processes {
	struct jit_process *by_pid; /* the one that was updated last is the last one */
	size_t max_bytes;
	/* as they were at the last update, or at the first question for a region since: */
	struct proc_maps maps;
	pid_t maps_of; /* of this process; 0: none */
	int maps_fd;   /* from which they are read */
};

struct jit_processes *jit_processes_new(size_t max_bytes)
{
	struct jit_processes *processes = calloc(1, sizeof(*processes));

	if (processes)
		processes->max_bytes = max_bytes;
	return processes;
}

static void drop(struct jit_processes *processes, struct jit_process *process)
{
	HASH_DEL(processes->by_pid, process);
	jit_files_close(&process->files);
	free(process->regions);
	free(process);
}

void jit_processes_free(struct jit_processes *processes)
{
	struct jit_process *process, *next;

	if (!processes)
		return;
	HASH_ITER(hh, processes->by_pid, process, next)
		drop(processes, process);
	proc_maps_free(&processes->maps);
	free(processes);
}

/* proc_pid_stat(5): when it was started; 0: it has exited */
static uint64_t start_of(int stat)
{
	char text[2048], *at;
	ssize_t bytes = stat < 0 ? -1 : pread(stat, text, sizeof(text) - 1, 0);
	unsigned long long start = 0;

	text[bytes < 0 ? 0 : bytes] = 0;
	at = strrchr(text, ')'); /* the name may have some, too */
	if (at &&
	    sscanf(at,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &start) != 1)
		start = 0;
	return start;
}

/* NULL: no memory */
static struct jit_process *add(struct jit_processes *processes, pid_t pid,
			       const struct jit_opened *opened)
{
	struct jit_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->error = opened->error;
	process->started = start_of(opened->fds[JIT_STAT]);
	process->files = JIT_FILES_NONE;
	process->files.names.max_bytes = processes->max_bytes / 2;
	HASH_ADD_INT(processes->by_pid, pid, process);
	return process;
}

/*
 * Drops processes, and forgets names, that were not updated for the longest time; not those of the
 * last one, which may need half of all. Names that are forgotten are read again at the next update.
 */
static void bound(struct jit_processes *processes)
{
	struct jit_process *process, *next;
	size_t bytes = 0;

	HASH_ITER(hh, processes->by_pid, process, next)
		bytes += jit_names_bytes(&process->files.names);
	HASH_ITER(hh, processes->by_pid, process, next) {
		bool too_many = HASH_COUNT(processes->by_pid) > JIT_MAX_PROCESSES;

		if (!next || (!too_many && bytes <= processes->max_bytes / 2))
			return;
		bytes -= jit_names_bytes(&process->files.names);
		if (too_many)
			drop(processes, process);
		else
			jit_files_forget(&process->files);
	}
}

int jit_processes_update(struct jit_processes *processes, pid_t pid, struct jit_opened *opened)
{
	int none[NR_JIT_FDS] = { -1, -1, -1, -1 }, *fds = opened->fds;
	uint64_t started = start_of(fds[JIT_STAT]);
	struct jit_process *process;

	processes->maps_of = 0;
	HASH_FIND_INT(processes->by_pid, &pid, process);
	/* another process has its number now */
	if (process && started && started != process->started) {
		drop(processes, process);
		process = NULL;
	}
	if (process) {
		HASH_DEL(processes->by_pid, process);
		HASH_ADD_INT(processes->by_pid, pid, process);
	} else {
		process = add(processes, pid, opened);
	}
	if (!process)
		return -ENOMEM;
	bound(processes);
	if (started != process->started)
		fds = none; /* it has exited */
	processes->maps_fd = fds[JIT_MAPS];
	if (process->error)
		return 0;
	return jit_files_update(&process->files, &fds[JIT_MAP], &fds[JIT_DUMP]);
}

bool jit_processes_forgot(const struct jit_processes *processes, pid_t pid)
{
	const struct jit_process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	return process && process->files.names.forgotten;
}

bool jit_processes_want_dump(const struct jit_processes *processes, pid_t pid)
{
	const struct jit_process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	return !process || (!process->error && jit_files_want_dump(&process->files));
}

/* ---- regions ---- */

static const struct region *known_region(const struct jit_process *process, uint64_t addr)
{
	/* the last one: it may have replaced another */
	for (size_t i = process->nr_regions; i-- > 0;)
		if (addr >= process->regions[i].start && addr < process->regions[i].end)
			return &process->regions[i];
	return NULL;
}

/* NULL: there is none, or the process has exited */
static const struct proc_mapping *mapping_at(struct jit_processes *processes, pid_t pid,
					     uint64_t addr)
{
	struct proc_maps *maps = &processes->maps;
	size_t nr;

	if (processes->maps_of != pid) {
		proc_maps_free(maps);
		*maps = (struct proc_maps){};
		if (processes->maps_fd < 0 || proc_maps_read_open(maps, processes->maps_fd))
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
		snprintf(region->name, sizeof(region->name), "[%.*s]", length - memfd,
			 path + memfd);
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

enum jit_found jit_processes_find(struct jit_processes *processes, pid_t pid, uint64_t addr,
				  uint64_t time_ns, const char **name, uint64_t *start)
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
