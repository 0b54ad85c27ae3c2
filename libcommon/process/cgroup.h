/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_PROCESS_CGROUP_H
#define EHPERF_PROCESS_CGROUP_H

#include <stdint.h>

/*
 * The kernel's ID of a cgroup of the v2 hierarchy: by its directory, or by its path below where that hierarchy
 * is mounted. 0, -ENOTDIR (it is no such cgroup) or -errno
 */
int cgroup_id(const char *path, uint64_t *id);

#endif
