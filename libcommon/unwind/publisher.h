/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Publishes processes: writes a process's mapping list and the tables of its modules into slabs, and hands the kernel
 * the handle by which its programs walk them (processes_abi.h). What is published is a version of the process's
 * mappings; a later version is published beside it and then takes its place, so that a walk always finds one or the
 * other.
 *
 * Of the process it takes the mappings, and of a sample or a task list the image that they are of. It knows no libbpf.
 */
#ifndef EHPERF_UNWIND_PUBLISHER_H
#define EHPERF_UNWIND_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "unwind/images.h"
#include "unwind/processes.h"
#include "processes_abi.h"

/* where the handles go: the kernel's maps */
struct publisher_target {
	/* returns when the kernel can read all slabs that were handed out. 0 or -errno */
	int (*settle)(void *arg);
	/* 0, or -errno; of these, -ENOMEM, -E2BIG and -EBUSY say that there is no room for it now */
	int (*set_handle)(void *arg, uint32_t tgid, uint64_t handle);
	void (*remove_handle)(void *arg, uint32_t tgid);
	void *arg;
};

/* of one process; others than the publisher only read it */
struct publication {
	pid_t pid;
	struct image_list list;		/* none: it is not published */
	struct eh_image image;		/* whose list it is */
	uint64_t version;		/* struct process.version of the mappings in the list */
	bool live;			/* the kernel has its handle; else all samples of the process come raw */
	bool in_exec;			/* the image was taken from a sample within execve(), which may have changed it since */
	uint64_t confirmed;		/* the version that /proc confirmed when a pc lay outside it, 0: none */
	struct mapped_modules mapped;	/* stays when the list is invalidated */
	UT_hash_handle hh;
};

struct publisher_counts {
	uint64_t publications;
	uint64_t unpublished;		/* publications that failed */
};

struct publisher;

/* Tables are the caller's and must outlive it. 0 or -ENOMEM */
int publisher_new(struct publisher **publisher, struct tables *tables, struct publisher_target target);
/* What the kernel has been handed stays with it. */
void publisher_free(struct publisher *publisher);

/* what to give to struct processes: what is published of a process is invalidated before its mappings go */
struct process_observer publisher_observer(struct publisher *publisher);

/* Finds the modules of a process that is to be published, so that their tables can be made ahead. 0 or -ENOMEM */
int publisher_find_modules(struct publisher *publisher, const struct process *process);

/*
 * Publishes the process as it is known to be, of this image. If that fails, it is counted and the process is not
 * published; if the kernel has no room for the handle, the list is written and not live.
 */
void publisher_publish(struct publisher *publisher, const struct process *process, const struct eh_image *image);
/* Publishes again the published processes whose mappings have changed since. */
void publisher_publish_changed(struct publisher *publisher, const struct processes *processes);
/* Takes the handle from the kernel and releases the list. */
void publisher_invalidate(struct publisher *publisher, pid_t pid);

/* the process's publication if it has a list, or NULL; valid until the publisher is called again */
const struct publication *publisher_find(const struct publisher *publisher, pid_t pid);
/* its list, to be kept (image_share()). 0, -ESRCH or -ENOMEM */
int publisher_share_list(struct publisher *publisher, pid_t pid, struct image_list *share);
/* Is this version of the process's mappings published, as this image's, and does the kernel know? */
bool publisher_is_current(const struct publisher *publisher, const struct process *process, const struct eh_image *image);

/*
 * What is learnt of a published process later; nothing happens if it is not published.
 * A change that changed nothing in the mappings: the list is still right after this many of them.
 */
void publisher_set_changes(struct publisher *publisher, pid_t pid, uint32_t changes);
/* The kernel sends no raw samples for pcs outside the list till then (CLOCK_MONOTONIC). */
void publisher_set_quiet(struct publisher *publisher, pid_t pid, uint64_t until_ns);
void publisher_set_in_exec(struct publisher *publisher, pid_t pid, bool in_exec);
void publisher_set_confirmed(struct publisher *publisher, pid_t pid);

struct publisher_counts publisher_counts(const struct publisher *publisher);

#endif
