/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens paths that another user may control: only regular files, read-only. A file is checked before it is opened, so that no
 * FIFO blocks, no device is touched, and no file system's server is asked for more than the path.
 */
#ifndef EHPERF_DWARF_REGULAR_FILE_H
#define EHPERF_DWARF_REGULAR_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/file_key.h"

/*
 * Finds the file at a path without opening it: an fd of O_PATH, or -errno, -ENOENT if it is not a regular file. root: a directory
 * that links cannot leave; -1: none. follow: the last part of the path may be a link. *key is what is known of the file without
 * asking a server
 */
int regular_file_find(int root, const char *path, bool follow, struct file_key *key);
/* the same of what a process has mapped there, by the kernel's own link to it */
int regular_file_find_mapped(pid_t tid, uint64_t start, uint64_t end, struct file_key *key);
/* Opens what was found, and closes `found`. An fd or -errno */
int regular_file_open_found(int found);

/* both: an fd or -errno. Workers may call these two, and not those above (base/opening.h). */
int regular_file_open(int root, const char *path, bool follow);
/* of /tmp/perf-PID.map, which is no link */
int regular_file_open_perf_map(int root, pid_t pid);

/*
 * From now on, a path leads only to what everybody may read, somebody may execute, or has a debug file's name and is no link; not
 * to empty files, as those of /proc are. Who chooses paths, but may not read the files, learns no secret.
 */
void regular_file_confine(void);

/*
 * Is this open file trusted to describe code that `owner` owns? It must belong to root, to this owner or to the tool's user, and
 * not be writable for everybody. IDs are those of the tool's user namespace, where the root of another user namespace is the
 * user that made it.
 */
bool regular_file_is_believed(int fd, uid_t owner);

#endif
