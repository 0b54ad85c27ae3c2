/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's executable mappings, as /proc/PID/maps lists them. */
#ifndef EHPERF_PROCESS_PROC_MAPS_H
#define EHPERF_PROCESS_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/regular_file.h"

struct proc_mapping {
	uint64_t start, end, file_offset;
	uint64_t dev, inode; /* as in maps, which may differ from stat()'s; inode 0: no file */
	/*
	 * as in maps: "" without a name; "[vdso]" and the like; may end in " (deleted)"; shared in
	 * struct proc_maps
	 */
	char *path;
	/* unique, given when the mapping is read or added; its pieces and copies keep it */
	uint64_t number;
	/* which file it is, if `looked`, by the reader of the mapping: 0 or -errno in file_error */
	bool looked;
	int file_error;
	struct file_key file;
};

static inline bool proc_mapping_is_anonymous(const struct proc_mapping *mapping)
{
	return !mapping->inode && !mapping->path[0];
}

struct proc_maps {
	struct proc_mapping *mappings; /* by address */
	size_t nr, room;
	/* the thread they were read from: not the leader if that has exited */
	pid_t tid;
	/* of the array, which copies share until one of them changes; NULL: it is not shared */
	unsigned *nr_users;
};

/* The length of a mapping's path, without " (deleted)" at its end */
size_t proc_maps_path_length(const char *path);

/*
 * A process with more executable mappings, or with longer paths in all, is not followed, because
 * that would take too much time. JITs have some thousand mappings.
 */
#define MAX_PROC_MAPPINGS (1 << 14)
#define MAX_PROC_PATHS    (2 << 20)

/*
 * Reads the mappings of a process, from another thread if the leader has exited. 0, -ESRCH,
 * -EACCES, -ENOMEM, -E2BIG (more than MAX_PROC_MAPPINGS or _PATHS). Kernel threads have no
 * mappings.
 */
int proc_maps_read(struct proc_maps *maps, pid_t pid);
/*
 * Opens what proc_maps_read() reads: an fd or -errno; and reads it, for which no rights are needed:
 * nothing, once the process has exited
 */
int proc_maps_open(pid_t pid);
int proc_maps_read_open(struct proc_maps *maps, int fd);
void proc_maps_free(struct proc_maps *maps);
/* Takes no time, and no memory until one of the two is changed. 0 or -ENOMEM */
int proc_maps_copy(struct proc_maps *copy, struct proc_maps *maps);

/*
 * Appends a mapping, or the part of it that lies after all others; its path is copied, or shared
 * with the last mapping. 0, -ENOMEM or -E2BIG
 */
int proc_maps_append(struct proc_maps *maps, const struct proc_mapping *mapping);

/*
 * Adds a mapping, which replaces what was mapped in its range; its path is copied. Anonymous memory
 * within a file's mapping is ignored: it is the file's text, moved to huge pages. 0, -ENOMEM or
 * -E2BIG
 */
int proc_maps_add(struct proc_maps *maps, const struct proc_mapping *mapping);
/*
 * Removes what is mapped in [start, end); *removed: there was something. 0, or -ENOMEM or -E2BIG
 * with maps unchanged
 */
int proc_maps_remove(struct proc_maps *maps, uint64_t start, uint64_t end, bool *removed);

/* does an earlier mapping map the same file? A file may have several executable segments. */
bool proc_maps_repeats(const struct proc_maps *maps, size_t i);

/*
 * A malloc()ed copy of our own vDSO, which is the same in every 64-bit process. Its size, or -errno
 */
ssize_t proc_maps_copy_vdso(void **image);

#endif
