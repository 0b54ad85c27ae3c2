/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_PROCESS_CGROUP_H
#define EHPERF_PROCESS_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Gets the kernel's ID of a cgroup v2. path: its directory, or its path relative to the mount of
 * cgroup2. 0, -ENOTDIR (not a cgroup v2) or -errno
 */
int cgroup_id(const char *path, uint64_t *id);

/*
 * Gets the path of a process's cgroup v2, relative to that mount. 0, -ENOENT (it has none) or
 * -errno
 */
int cgroup_path(pid_t pid, char *path, size_t size);

#endif
