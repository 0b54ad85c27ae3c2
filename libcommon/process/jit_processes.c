// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/jit_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct jit_process {
	pid_t pid;
	int error;		/* jit_files_open()'s; not 0: files is not valid */
	struct jit_files files;
	UT_hash_handle hh;
};

struct jit_processes {
	struct jit_process *by_pid;
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
		free(process);
	}
	free(processes);
}

static int open_files(struct jit_process *process, const struct proc_maps *maps)
{
	struct proc_maps own = {};
	int error = maps ? 0 : proc_maps_read(&own, process->pid);

	if (!error)
		error = jit_files_open(&process->files, process->pid, maps ? maps : &own);
	proc_maps_free(&own);
	return error == -ESRCH ? jit_files_open_dead(&process->files, process->pid) : error;
}

int jit_processes_see(struct jit_processes *processes, pid_t pid, const struct proc_maps *maps)
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
	process->error = open_files(process, maps);
	HASH_ADD_INT(processes->by_pid, pid, process);
	return process->error;
}

int jit_processes_update(struct jit_processes *processes, pid_t pid)
{
	struct jit_process *process, *other, *next;
	size_t bytes = 0;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	if (!process || process->error)
		return 0;
	HASH_ITER(hh, processes->by_pid, other, next)
		if (!other->error)
			bytes += jit_names_bytes(&other->files.names);
	return bytes > JIT_MAX_BYTES ? 0 : jit_files_update(&process->files);
}

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
