/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Publishes processes to the kernel's unwinder: writes the tables of a process's modules and its
 * mapping list into slabs, and stores the list's handle in the kernel's map `procs`
 * (processes_abi.h). A later version of the mappings is written elsewhere and then replaces the
 * handle, so that a walk finds either the old list or the new one.
 *
 * The mappings come from struct process. The caller says which image they belong to; it knows that
 * from a sample or from the list of tasks. The kernel's maps are behind struct publisher_target, so
 * that this module needs no libbpf.
 */
#ifndef EHPERF_UNWIND_PUBLISHER_H
#define EHPERF_UNWIND_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "unwind/mapping_list.h"
#include "unwind/processes.h"
#include "unwind/regions.h"
#include "unwind/runtime.h"
#include "processes_abi.h"

/* where the handles go: the kernel's maps */
struct publisher_target {
	/* waits until the kernel can read all slabs that were handed out. 0 or -errno */
	int (*settle)(void *arg);
	/* 0 or -errno; -ENOMEM, -E2BIG and -EBUSY mean that the map has no room at the moment */
	int (*set_handle)(void *arg, uint32_t tgid, uint64_t handle);
	void (*remove_handle)(void *arg, uint32_t tgid);
	void *arg;
};

/* what is published of one process; only the publisher writes it */
struct publication {
	pid_t pid;
	struct mapping_list list;   /* {}: the process is not published */
	struct process_image image; /* the list belongs to it */
	uint64_t version;           /* struct process.version of the mappings in the list */
	/* the kernel has the handle; without it, all samples of the process come raw */
	bool live;
	/*
	 * the image is from a sample that was taken inside execve(); that call may have changed the
	 * image since
	 */
	bool in_exec;
	/*
	 * the version that was confirmed: a pc lay outside the list, /proc was read again, and the
	 * mappings were the same; 0: none
	 */
	uint64_t confirmed;
	struct runtime_process runtimes[MAX_RUNTIMES]; /* in the order of the table */
	struct regions regions;       /* its code in no file, unless a runtime has generated it */
	struct mapped_modules mapped; /* kept when the list is invalidated */
	UT_hash_handle hh;
	struct publication *prev, *next; /* of those that may have to be published again */
};

struct publisher_counts {
	uint64_t publications;
	uint64_t unpublished;      /* publications that failed */
	uint64_t regions_given_up; /* code in no file that has changed too often */
};

struct publisher;

/* The tables are the caller's and must outlive the publisher. 0 or -ENOMEM */
int publisher_new(struct publisher **publisher, struct tables *tables,
		  struct publisher_target target);
/* Leaves the handles in the kernel's map. */
void publisher_free(struct publisher *publisher);

/*
 * the observer for struct processes: invalidates what is published of a process before its mappings
 * are replaced, forgets processes that have exited, and copies what is known of a parent to its
 * child
 */
struct process_observer publisher_observer(struct publisher *publisher);

/*
 * Finds the modules of a process before it is published, so that their tables can be made in
 * parallel. 0 or -ENOMEM
 */
int publisher_find_modules(struct publisher *publisher, const struct process *process);

/*
 * Publishes the process's current mappings as those of this image. If this fails, the failure is
 * counted, and the process is not published. If the kernel's map has no room for the handle, the
 * list is written but not live. The list of a refused process has no mappings, and says that the
 * process is refused. The process is charged for the CPU time, and may be refused for that
 * (process_charge()).
 */
void publisher_publish(struct publisher *publisher, struct processes *processes,
		       struct process *process, const struct process_image *image);
/*
 * Publishes those published processes again whose mappings have changed since, or for whose handles
 * the kernel's map had no room.
 */
void publisher_publish_changed(struct publisher *publisher, struct processes *processes);
/*
 * Adds to the lists of processes what their files say that were compiled since: which runtimes they
 * have, and where mappings end.
 */
void publisher_find_compiled(struct publisher *publisher, const struct processes *processes);
/* Deletes the handle from the kernel's map and releases the list. */
void publisher_invalidate(struct publisher *publisher, pid_t pid);

/* the process's publication if it has a list, or NULL; valid until the publisher is called again */
const struct publication *publisher_find(const struct publisher *publisher, pid_t pid);
/* mapping_list_share() of the process's list. 0, -ESRCH or -ENOMEM */
int publisher_share_list(struct publisher *publisher, pid_t pid, struct mapping_list *share);
/* Is the current version of the process's mappings published for this image, and live? */
bool publisher_is_current(const struct publisher *publisher, const struct process *process,
			  const struct process_image *image);

/*
 * These four note what is learnt later about a process. The first two do nothing if it is not
 * published. changes: the list is valid up to this count of changes, because the last change
 * removed nothing that is in it.
 */
void publisher_set_changes(struct publisher *publisher, pid_t pid, uint32_t changes);
/* Until then (CLOCK_MONOTONIC), the kernel sends no raw samples for pcs outside the list. */
void publisher_set_quiet(struct publisher *publisher, pid_t pid, uint64_t until_ns);
void publisher_set_in_exec(struct publisher *publisher, pid_t pid, bool in_exec);
void publisher_set_confirmed(struct publisher *publisher, pid_t pid);

/* the runtime that generates code in the process; NULL: none is known */
const struct runtime_process *publisher_generator(const struct publisher *publisher, pid_t pid);

/*
 * A walk by this list of the process, its current or an earlier one, has ended in a region, at pc.
 * Reads the region, and gives the mapping the new table. True: walk again
 */
bool publisher_want_region(struct publisher *publisher, pid_t pid, loc_t list, uint64_t pc);
/* From now on, walks may ask again for regions whose pauses are over. */
void publisher_resume_regions(struct publisher *publisher);

/* Notes the modules that processes have mapped: used[ID] */
void publisher_note_modules(const struct publisher *publisher, bool *used);

struct publisher_counts publisher_counts(const struct publisher *publisher);

#endif
