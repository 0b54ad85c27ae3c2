/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind a mapping. Its process, or anybody who can rename or mount, decides what its path leads
 * to: nothing is opened but the regular file that is mapped, or that was identified before.
 */
#ifndef EHPERF_PROCESS_MAPPED_FILE_H
#define EHPERF_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/regular_file.h"
#include "process/proc_maps.h"

struct mapped_file {
	pid_t tid;		/* a thread that has it mapped, or had */
	uint64_t start, end;	/* where */
	const char *path;	/* as that thread sees it */
	bool ours;		/* its path led us to it, too, before: it is looked for nowhere else */
};

struct mapped_file mapped_file_of(pid_t tid, const struct proc_mapping *mapping);

/*
 * Which file is mapped there: 0, or -errno: -ESTALE if another file has its path by now. It is not opened.
 * If the process is gone, its path is tried in the caller's own mount namespace. -ENOEXEC: it is a memfd
 * that holds no ELF file.
 */
int mapped_file_identify(pid_t tid, const struct proc_mapping *mapping, struct file_key *key);

/*
 * Does a process have the same root directory and mounts as the caller? Then its mappings' paths are ours. In a mount
 * namespace or root of its own, which any user can make, a process decides what every path leads to.
 */
bool process_has_our_root(pid_t pid);

/*
 * The root directory that debug files of the file that was identified are to be looked for in, besides our own: an fd of
 * O_PATH. It is that of the thread that has it mapped, and only if the file's path leads to the file there, and not here.
 * -1: there is none.
 */
int mapped_file_root(const struct mapped_file *file, const struct file_key *key);

/*
 * Opens the file that was identified: an fd or -errno. It is looked for in the roots of all processes,
 * since another one in the same container may be alive when the one that had it is not. *own, which may be
 * NULL: whether its path leads to it in the caller's own mount namespace, where it will be later, too
 */
int mapped_file_open(const struct mapped_file *file, const struct file_key *key, bool *own);

/* both: an fd or -errno */
int mapped_file_open_now(pid_t tid, const struct proc_mapping *mapping);

#endif
