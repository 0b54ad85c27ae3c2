/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user-space side of the unwinder in the kernel (bpf/unwind.bpf.h). Publishes to it the
 * mappings of each process and the tables of the mapped files, and unwinds the raw samples: those
 * that the kernel could not unwind (records_abi.h).
 *
 *   process/perf_records, bpf/processes.bpf.h   events of processes: mmap, exec, fork; munmap, exit
 *   unwind/event_queue                          sorts events and raw samples by time
 *   unwind/processes, process/proc_maps         the mappings of each process, by events and by
 *                                               /proc/PID/maps
 *   unwind/foreign, process/workers             child processes that read others' /proc and compile
 *                                               their files
 *   unwind/modules, table/unwind_table          the mapped files, and their tables, compiled from
 *                                               .eh_frame
 *   unwind/tables, kernel/slab_maps             writes the tables into slabs
 *   unwind/publisher, unwind/mapping_list       writes a process's mapping list, and the handle by
 *                                               which it is found
 *   unwind/raw_samples, unwind/host_unwind      reads and publishes an unknown process, and unwinds
 *                                               its raw samples
 *
 * At the start, all processes are read and published. A later process is published when its first
 * sample arrives: a raw sample, which has what publishing needs.
 */
#ifndef EHPERF_KERNEL_UNWINDER_H
#define EHPERF_KERNEL_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/stack_store.h"
#include "unwind/modules.h"

struct bpf_object;
struct processes;
struct runtime_process;

struct unwinder;

struct unwinder_options {
	/* false: no user stacks are wanted, and only forks and exits are followed */
	bool user_stacks;
	bool all; /* follow every process; else only those in pids */
	const pid_t *pids;
	size_t nr_pids;
	bool children; /* follow what the followed processes fork, too */
	uint32_t max_depth;
	/*
	 * limits of the kernel's memory for all maps of the object, and of the tool's memory.
	 * Without room in the first, files get no table, and processes are not published; above the
	 * second, processes are refused. 0: 512 MB
	 */
	uint64_t kernel_bytes, user_bytes;
	/*
	 * What kept stacks name, beside files: now and then, use() is called for the frames of each
	 * stack, and then forget(), which forgets the rest. NULL: nothing
	 */
	see_frames_fn *use;
	void (*forget)(void *arg);
	void *names; /* arg of both */
};

struct unwinder_counts {
	uint64_t processes, files_at_start;
	/* seconds that unwinder_start() took for each step */
	double read_s, compile_s, insert_s, publish_s;
	uint64_t files, files_without_table, rows, table_bytes, slab_bytes;
	uint64_t events, publications, raw_samples;
	/* 0, or why munmap(), mremap() and mmap() cannot be traced: an errno */
	int untraced_munmap;
	uint64_t unpublished;      /* publications that failed */
	uint64_t regions_given_up; /* code in no file that has changed too often */
	uint64_t refused; /* processes that were not unwound at some time; at most MAX_REFUSALS */
	uint64_t evicted; /* tables that nobody used */
	uint64_t slab_waits; /* publications that had to wait for a slab */
};

/*
 * Before an object that includes bpf/processes.bpf.h is loaded: chooses its programs. 0 or -errno
 */
int unwinder_configure(struct bpf_object *object, bool user_stacks);

/*
 * For a loaded object that includes bpf/processes.bpf.h. Runs the task iterator once, so that the
 * programs use PIDs of the caller's namespace from now on, and begins to follow processes. Stacks
 * go to the store. 0 or -errno.
 */
int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules,
		 struct stack_store *store, const struct unwinder_options *options);
void unwinder_free(struct unwinder *unwinder);

/*
 * Reads and publishes the existing processes, those that ran last first. Child processes read them,
 * and make their tables (unwind/foreign.h): waits 0.4 seconds at most for the ones, and 0.4 for the
 * others. 0 or -errno
 */
int unwinder_start(struct unwinder *unwinder);

/* Follows one more process, from its exec on. 0 or -ENOMEM */
int unwinder_expect(struct unwinder *unwinder, pid_t pid);

/*
 * File descriptors for poll(); those not used are -1. When one is readable, call unwinder_follow()
 * soon. Call it regularly anyway.
 */
#define UNWINDER_FDS 3
void unwinder_fds(const struct unwinder *unwinder, int fds[UNWINDER_FDS]);

/*
 * Drains the buffers, applies the events of processes, unwinds raw samples, and publishes new and
 * changed processes. last: no program is attached any more; handles everything that is left, and
 * waits at most 0.7 s for the tables and processes that samples need. 0 or -errno
 */
int unwinder_follow(struct unwinder *unwinder, bool last);
/* The last unwinder_follow() had not time enough for all records. */
bool unwinder_is_behind(const struct unwinder *unwinder);

/*
 * the runtimes of a published process, in the order of the table (unwind/runtime.h); NULL: it is
 * not published
 */
const struct runtime_process *unwinder_runtimes(const struct unwinder *unwinder, pid_t pid);

/* the processes that are followed, and those that are refused */
const struct processes *unwinder_processes(const struct unwinder *unwinder);

struct unwinder_counts unwinder_counts(const struct unwinder *unwinder);

#endif
