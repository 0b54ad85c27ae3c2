/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code each process has mapped, kept up to date by events: perf's records of mmap, exec and fork, and
 * our own of munmap and exit (bpf/processes.bpf.h). Events must be applied in order of time: after each, the
 * mappings here are those of that moment, even if the process has exited since.
 *
 * This module keeps mappings only. A module that keeps state of its own per process does so by PID, and
 * observes.
 */
#ifndef EHPERF_UNWIND_PROCESSES_H
#define EHPERF_UNWIND_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "process/proc_maps.h"
#include "process/process_event.h"
#include "unwind/foreign.h"

struct process {
	pid_t pid;
	struct proc_maps maps;
	bool complete;		/* maps holds all mappings: they were followed from exec on, or read */
	/* when maps was read, or the process was added: older events are in it already */
	uint64_t read_ns;
	uint64_t looked_ns, look_took_ns;	/* when /proc was last read, and how long that took */
	uint64_t version;	/* of maps, from 1 on: changes whenever maps does */
	uint32_t changes;	/* the kernel's count of changes: the highest of a reading or a PROCESS_UNMAPPED event */
	UT_hash_handle hh;
};

/* each may be NULL */
struct process_observer {
	/*
	 * called before all mappings of the process are replaced or dropped, and when lost events make them
	 * unreliable
	 */
	void (*invalidated)(void *arg, pid_t pid);
	/* the child has a copy of the parent's mappings now */
	void (*forked)(void *arg, pid_t parent, pid_t child);
	/* the process is gone; invalidated() was called before */
	void (*exited)(void *arg, pid_t pid);
	void *arg;
};

struct processes {
	struct process *by_pid;
	bool all, children;	/* follow every process; follow what the known ones fork */
	struct process_observer observer;
};

/* NULL: not known. Valid until processes_apply() or processes_free() */
struct process *processes_find(const struct processes *processes, pid_t pid);
/* Finds or adds the process. NULL: no memory */
struct process *processes_get(struct processes *processes, pid_t pid);
/* Does not call the observer. */
void processes_free(struct processes *processes);

/* one reading of /proc/PID/maps */
struct process_reading {
	struct proc_maps maps;
	uint64_t began_ns;	/* CLOCK_MONOTONIC */
	/* set by the caller: the kernel's count of changes (processes_abi.h) before the reading */
	uint32_t changes;
};

/* by these workers, if any. 0, -ESRCH (gone, or without memory of its own), or -errno */
int process_read(struct foreign *foreign, pid_t pid, struct process_reading *reading);
/*
 * Replaces the process's mappings by the reading's. Takes over reading->maps; frees it if nothing has
 * changed.
 */
void process_take(struct processes *processes, struct process *process, struct process_reading *reading);

/* 0 or -ENOMEM */
int processes_apply(struct processes *processes, const struct process_event *event);

#endif
