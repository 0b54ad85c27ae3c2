/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code each process has mapped, kept up to date by events: perf's records of mmap, exec and fork, and
 * our own of munmap and exit (bpf/processes.bpf.h). Events are to be applied in the order of their time: between two
 * of them the lists say what was mapped at that moment, even if the process has exited since.
 *
 * Only what is mapped is kept here. Who keeps something of its own for a process keeps it under its PID, and observes.
 */
#ifndef EHPERF_UNWIND_PROCESSES_H
#define EHPERF_UNWIND_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "process/proc_maps.h"
#include "process/process_event.h"

struct process {
	pid_t pid;
	struct proc_maps maps;
	bool complete;		/* maps holds all mappings: they were followed from exec on, or read */
	uint64_t read_ns;	/* when maps was read: events before that are in it already */
	uint64_t looked_ns, look_took_ns;	/* when /proc was read last, and how long that took */
	uint64_t version;	/* of maps, from 1 on */
	uint32_t changes;	/* the number of the last PROCESS_UNMAPPED that is in maps */
	UT_hash_handle hh;
};

/* each may be NULL */
struct process_observer {
	/* before all mappings of the process are replaced, dropped, or no longer relied on */
	void (*invalidated)(void *arg, pid_t pid);
	/* the child has a copy of the parent's mappings now */
	void (*forked)(void *arg, pid_t parent, pid_t child);
	/* there is no such process any more; it was invalidated before */
	void (*exited)(void *arg, pid_t pid);
	void *arg;
};

struct processes {
	struct process *by_pid;
	bool all, children;	/* besides those asked for: every process; the children of known ones */
	struct process_observer observer;
};

/* NULL: it is not known. Valid until processes_apply() or processes_free() */
struct process *processes_find(const struct processes *processes, pid_t pid);
/* the process, new if need be; NULL: no memory */
struct process *processes_get(struct processes *processes, pid_t pid);
/* The observer does not hear of this. */
void processes_free(struct processes *processes);

/* what /proc/PID/maps said */
struct process_reading {
	struct proc_maps maps;
	uint64_t began_ns;	/* CLOCK_MONOTONIC */
	uint32_t changes;	/* for the caller to set: what struct process.changes was before maps was read */
};

/* 0, -ESRCH (gone, or without memory of its own), or -errno */
int process_read(pid_t pid, struct process_reading *reading);
/* Makes the reading the process's mappings. reading->maps is taken over, or freed if nothing has changed. */
void process_take(struct processes *processes, struct process *process, struct process_reading *reading);

/* 0 or -ENOMEM */
int processes_apply(struct processes *processes, const struct process_event *event);

#endif
