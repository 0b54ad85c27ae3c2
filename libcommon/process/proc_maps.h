/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, the executable mappings of it. */
#ifndef EHPERF_PROCESS_PROC_MAPS_H
#define EHPERF_PROCESS_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_mapping {
	uint64_t start, end, file_offset;
	uint64_t dev, inode;	/* as in maps, which need not be what stat() says; inode 0: no file */
	char *path;		/* as in maps, "" without a name; "[vdso]" and the like; may end in " (deleted)" */
	uint64_t number;	/* given once, to the mapping as it is read or added; pieces and copies of it keep it */
};

struct proc_maps {
	struct proc_mapping *mappings;	/* by address */
	size_t nr, room;
	pid_t tid;			/* the thread whose they are: the leader, or another one if that is gone */
};

/*
 * Of a process, by any of its threads that is still there (the leader may be gone). 0, -ESRCH,
 * -EACCES, -ENOMEM. Kernel threads have no mapping.
 */
int proc_maps_read(struct proc_maps *maps, pid_t pid);
void proc_maps_free(struct proc_maps *maps);
/* 0 or -ENOMEM */
int proc_maps_copy(struct proc_maps *copy, const struct proc_maps *maps);

/*
 * A new mapping, which takes the place of what was there; its path is copied. Nameless memory within
 * a file's mapping is left out: it is the file's text, moved to huge pages. 0 or -ENOMEM
 */
int proc_maps_add(struct proc_maps *maps, const struct proc_mapping *mapping);
/* What lies in [start, end) is gone; *removed: there was something. 0, or -ENOMEM and nothing has changed */
int proc_maps_remove(struct proc_maps *maps, uint64_t start, uint64_t end, bool *removed);

/* does an earlier mapping map the same file? A file may have several executable segments. */
bool proc_maps_repeats(const struct proc_maps *maps, size_t i);

/*
 * An fd of the regular file that is mapped there, or -errno. What is at the address or at the path by now
 * may be another file, which is refused. If the process is gone, the path is tried as one of the caller's.
 */
int proc_maps_open(pid_t tid, const struct proc_mapping *mapping);

/* The vDSO, which is the same in every 64-bit process: a malloc()ed copy of ours. Its size, or -errno */
ssize_t proc_maps_copy_vdso(void **image);

#endif
