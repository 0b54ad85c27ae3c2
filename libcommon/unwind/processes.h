/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code each process has mapped, kept up to date by events: perf's records of mmap, exec and fork, and
 * our own of munmap and exit (bpf/processes.bpf.h). Events are applied in the order of their time, so that
 * between two of them the mappings are those of that moment, of a process that is gone too.
 */
#ifndef EHPERF_UNWIND_PROCESSES_H
#define EHPERF_UNWIND_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "process/proc_maps.h"
#include "process/process_event.h"
#include "processes_abi.h"

struct process {
	pid_t pid;
	struct proc_maps maps;
	bool complete;		/* maps is all there is: seen from exec on, or read */
	uint64_t read_ns;	/* when maps was read: earlier events are in it */
	uint64_t looked_ns, look_took_ns;	/* when that was last, and how long it took */
	uint64_t version;	/* of maps */
	uint32_t changes;	/* the last PROCESS_UNMAPPED that maps knows of */
	/* the publisher's */
	struct eh_image image;	/* whose list lies at loc */
	bool in_exec;		/* as seen by a sample in execve(), where it may have been about to change */
	loc_t loc;		/* 0: none is written */
	size_t bytes;
	uint64_t written;	/* the version at loc */
	bool live;		/* the kernel has its handle */
	uint64_t settled;	/* the version that was found to be right though a pc lay outside it */
	UT_hash_handle hh;
};

struct processes {
	struct process *by_pid;
	bool all, children;	/* besides those asked for: whatever there is; what they fork */
	/* called before a process's mappings go, by exec or exit, or part of them */
	void (*changing)(void *arg, struct process *process);
	void *arg;
};

struct process *processes_find(const struct processes *processes, pid_t pid);
/* the process, new if need be; NULL: no memory */
struct process *processes_get(struct processes *processes, pid_t pid);
void processes_forget(struct processes *processes, struct process *process);
void processes_free(struct processes *processes);

/* a look at /proc/PID/maps */
struct process_reading {
	struct proc_maps maps;
	uint64_t began_ns;
	uint32_t changes;	/* the caller's: what struct process.changes was before */
};

/* 0, -ESRCH (gone, or without memory of its own), or -errno */
int process_read(pid_t pid, struct process_reading *reading);
/* that is how it is; reading->maps is taken over */
void process_take(struct processes *processes, struct process *process, struct process_reading *reading);

/* 0 or -ENOMEM */
int processes_apply(struct processes *processes, const struct process_event *event);

#endif
