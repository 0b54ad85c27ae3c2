/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code each process has mapped, kept up to date by events: perf's records of mmap, exec and
 * fork, and our own of munmap and exit (bpf/processes.bpf.h). Events must be applied in order of
 * time: after each event, the mappings here are those of its moment, even if the process has exited
 * since.
 *
 * This module keeps mappings, and what is needed to follow and to refuse processes. A module that
 * keeps its own state per process keeps it by PID, and is an observer.
 */
#ifndef EHPERF_UNWIND_PROCESSES_H
#define EHPERF_UNWIND_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "process/proc_maps.h"
#include "process/process_event.h"
#include "processes_abi.h"

/*
 * CPU time that processes may cost the tool: an initial amount, and a share of all time after that.
 * Programs that start, load libraries or compile at run time stay far below it.
 */
struct budget {
	uint64_t spent_ns; /* what was spent, less what was regained */
	uint64_t at_ns;    /* as of this time */
};
#define PROCESS_BUDGET_NS    500000000
#define PROCESS_BUDGET_SHARE 20 /* 1/20 of all time */

struct process {
	pid_t pid;
	struct proc_maps maps;
	bool complete; /* maps holds all mappings: they were followed from exec on, or read whole */
	/*
	 * maps includes all that happened before: when the last reading that succeeded was asked
	 * for, or unwinder_expect() was called; 0: neither
	 */
	uint64_t read_ns;
	uint64_t looked_ns, look_took_ns; /* when /proc was last read, and how long that took */
	uint64_t version;                 /* of maps, from 1 on: raised whenever maps may change */
	uint64_t program; /* a unique number of the program that it runs: changes at each exec */
	/*
	 * the kernel's count of changes: the highest that a reading or a PROCESS_UNMAPPED event has
	 * brought
	 */
	uint32_t changes;
	uint64_t event_ns;          /* the time of the last event, except the fork that made it */
	struct process_image image; /* when maps was read; {}: not known */
	/* why the process is not unwound, -errno; then no mappings are kept. 0: it is unwound */
	int refused;
	uint64_t refused_until_ns;
	/* the reading that was asked for */
	uint64_t asked;         /* its tag; 0: there is none */
	uint64_t asked_ns;      /* when */
	uint32_t asked_changes; /* the count of changes then */
	bool asked_again;       /* because the lock of its mappings was held for long */
	uint32_t uid;   /* for whom its mappings are read: a task's, as in struct stack_key */
	bool has_owner; /* the owner is known: it is looked up when it matters */
	uint64_t owner; /* see process/trust.h */
	struct process_event *since; /* the events since the reading was asked for */
	size_t nr_since, room_since;
	struct budget budget;
	UT_hash_handle hh;
	struct process *prev, *next; /* by .program */
};

/* each may be NULL */
struct process_observer {
	/*
	 * Called before the mappings of the process are replaced or dropped as a whole. After lost
	 * events, it is called only for processes that have ended; the others are read again.
	 */
	void (*invalidated)(void *arg, pid_t pid);
	/* an event may have changed the mappings */
	void (*changed)(void *arg, pid_t pid);
	/* the child has a copy of the parent's mappings now */
	void (*forked)(void *arg, pid_t parent, pid_t child);
	/* the process is gone; invalidated() was called before */
	void (*exited)(void *arg, pid_t pid);
	void *arg;
};

/* a process that is not unwound, or was not at some time */
struct refusal {
	pid_t pid;
	int error;
	UT_hash_handle hh;
};
/* so many are remembered by their PIDs, for the report */
#define MAX_REFUSALS 1024

struct processes {
	struct process *by_pid, *by_program;
	struct refusal *refusals;
	uint32_t nr_asked;    /* readings, ever */
	uint64_t nr_programs; /* ever */
	struct budget budget; /* of all of them together */
	uint64_t look_ns;     /* when processes_limit_memory() looks next */
	bool all, children;   /* follow every process; follow what the known ones fork */
	/*
	 * with .all: was it selected by -p, -t or as the command? Such a process is never refused
	 * for its CPU time. NULL: none was
	 */
	bool (*is_named)(void *arg, pid_t pid);
	void *named_arg;
	struct process_observer observer;
};

/* Has it ended, whether its exit was reported or not? */
bool process_is_gone(pid_t pid);

/* NULL: not known. Valid until processes_apply(), processes_read() or processes_free() */
struct process *processes_find(const struct processes *processes, pid_t pid);
/*
 * The first process whose program has begun after this one; the next ones follow by ->next. NULL:
 * there is none
 */
struct process *processes_after(const struct processes *processes, uint64_t program);
/* Finds or adds the process. NULL: no memory */
struct process *processes_get(struct processes *processes, pid_t pid);
/* Does not call the observer. */
void processes_free(struct processes *processes);

/*
 * A reading of the process's mappings was asked for, and comes later. Events until then are applied
 * to it, too. changes: the kernel's count of changes (processes_abi.h) before. Returns the
 * reading's tag, for processes_read().
 */
uint64_t process_asked(struct processes *processes, struct process *process, uint32_t changes);
/*
 * The reading with this tag has arrived, or has failed with this -errno; takes over the maps.
 * image: that of the process after the reading; {}: not known. Returns the process; NULL: it is
 * gone, or the reading is out of date
 */
struct process *processes_read(struct processes *processes, uint64_t tag, int error,
			       struct proc_maps *maps, const struct process_image *image);

/*
 * The process, and those that it forks, are not unwound for a while, or until they execute a
 * program. error: -E2BIG (it maps too much), -EAGAIN (it takes too much time), -ENOSPC (no memory
 * for it), or the error of reading it
 */
void process_refuse(struct processes *processes, struct process *process, int error);
/*
 * The process has cost this much CPU time, besides its events. If all processes are followed, and
 * it costs too much, it is refused, unless it was named. While all together cost more than half of
 * the time, each has only a quarter of its initial amount.
 */
void process_charge(struct processes *processes, struct process *process, uint64_t cost_ns);
/*
 * While the tool has allocated more than this many bytes, refuses processes of the user who has the
 * most mappings, the largest first, but none with few mappings. Root's come last. It checks only
 * from time to time.
 */
void processes_limit_memory(struct processes *processes, uint64_t bytes);
/* how many processes were refused at some time, at most MAX_REFUSALS */
uint64_t processes_nr_refused(const struct processes *processes);
/* why the process with this PID was refused at some time, -errno; 0: it was not */
int processes_why_refused(const struct processes *processes, pid_t pid);
/* such an error in words */
const char *process_explain(int error);
/* Is it refused at the moment? */
bool process_is_refused(struct process *process);

/* 0 or -ENOMEM */
int processes_apply(struct processes *processes, const struct process_event *event);

#endif
