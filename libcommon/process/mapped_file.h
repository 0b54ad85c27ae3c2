/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind a mapping. The process, and every user that can rename or mount, decides where
 * its path leads. So only the regular file that is mapped, or that was identified before, is
 * opened.
 */
#ifndef EHPERF_PROCESS_MAPPED_FILE_H
#define EHPERF_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/regular_file.h"
#include "process/proc_maps.h"

struct mapped_file {
	pid_t tid;           /* a thread that has it mapped, or had */
	uint64_t start, end; /* where */
	const char *path;    /* as that thread sees it */
	/* its path led to it in our own mount namespace before: it is not searched for elsewhere */
	bool ours;
};

/* the kernel's own link to what is mapped there, wherever its path leads by now */
#define MAPPED_FILE_LINK_BYTES 64
void mapped_file_link(pid_t tid, uint64_t start, uint64_t end, char link[MAPPED_FILE_LINK_BYTES]);

struct mapped_file mapped_file_of(pid_t tid, const struct proc_mapping *mapping);

/*
 * Identifies the mapped file without opening it: 0, or -errno: -ESTALE if its path leads to another
 * file now. If the process is gone, the path is tried in the caller's own mount namespace.
 * -ENOEXEC: shared memory (a memfd, MAP_ANONYMOUS, a file of /dev/shm that is deleted) that does
 * not contain an ELF file.
 */
int mapped_file_identify(pid_t tid, const struct proc_mapping *mapping, struct file_key *key);

/*
 * Has memory that processes share such a path in maps: of memfd_create(), MAP_SHARED |
 * MAP_ANONYMOUS, shmget(), shm_open()?
 */
bool mapped_file_names_memory(const char *path);

/*
 * Does a process have the same root directory and mounts as the caller? Then the paths of its
 * mappings are also ours. In another mount namespace or root, which any user can make, a process
 * decides where each path leads.
 */
bool process_has_our_root(pid_t pid);

/*
 * The root directory, besides our own, in which debug files of the identified file are searched
 * for: an fd of O_PATH. It is that of the thread that has the file mapped, if the file's path leads
 * to the file there, and not here (*own). -1: there is none.
 */
int mapped_file_root(const struct mapped_file *file, const struct file_key *key, bool *own);

/*
 * Opens the identified file: an fd or -errno. It is searched for in the roots of all processes,
 * because another process in the same container may still be alive. *own, which may be NULL:
 * whether its path leads to it in the caller's own mount namespace, where it can also be found
 * later
 */
int mapped_file_open(const struct mapped_file *file, const struct file_key *key, bool *own);

/* both: an fd or -errno */
int mapped_file_open_now(pid_t tid, const struct proc_mapping *mapping);

#endif
