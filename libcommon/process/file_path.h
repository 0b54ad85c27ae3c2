/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and libraries by the names that people use for them. */
#ifndef EHPERF_PROCESS_FILE_PATH_H
#define EHPERF_PROCESS_FILE_PATH_H

#include <limits.h>
#include <sys/types.h>

/*
 * The path of the file that the name means: a path as it is; libc, libc.so.6 (a library) or python3 (a
 * program). pid: as that process sees it, first of all among the files that it has mapped; 0: in the usual
 * directories, and in $PATH. The path is absolute and can be opened from here, if need be through
 * /proc/PID/root. 0 or -ENOENT
 */
int file_path_find(const char *name, pid_t pid, char path[PATH_MAX]);

#endif
