/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/maps, the executable mappings of it. */
#ifndef EHPERF_PROC_MAPS_H
#define EHPERF_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_mapping {
	uint64_t start, end, file_offset;
	uint64_t dev, inode;	/* as in maps, which need not be what stat() says; inode 0: no file */
	char *path;		/* as in maps, "" without a name; "[vdso]" and the like; may end in " (deleted)" */
};

struct proc_maps {
	struct proc_mapping *mappings;	/* by address */
	size_t nr;
	pid_t tid;			/* the thread whose they are: the leader, or another one if that is gone */
};

/*
 * Of a process, by any of its threads that is still there (the leader may be gone). 0, -ESRCH,
 * -EACCES, -ENOMEM. Kernel threads have no mapping.
 */
int proc_maps_read(struct proc_maps *maps, pid_t pid);
void proc_maps_free(struct proc_maps *maps);

/* does an earlier mapping map the same file? A file may have several executable segments. */
bool proc_maps_repeats(const struct proc_maps *maps, size_t i);

/* an fd of the regular file that is mapped there, or -errno; what is at the path by now may be another file */
int proc_maps_open(pid_t tid, const struct proc_mapping *mapping);

/* The vDSO's image of a thread into a malloc()ed *image: its size, or -errno. */
ssize_t proc_maps_read_vdso(pid_t tid, const struct proc_mapping *mapping, void **image);

#endif
