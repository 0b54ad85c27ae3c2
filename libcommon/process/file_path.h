/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds programs and libraries by their usual names. */
#ifndef EHPERF_PROCESS_FILE_PATH_H
#define EHPERF_PROCESS_FILE_PATH_H

#include <limits.h>
#include <sys/types.h>

/*
 * The path of the file with this name: a path; libc or libc.so.6 (a library); or python3 (a
 * program). pid: as that process sees it, at first among the files that it has mapped; 0: in the
 * usual directories, and in $PATH. The path is absolute, and can be opened by the caller, perhaps
 * through /proc/PID/root. 0 or -ENOENT
 */
int file_path_find(const char *name, pid_t pid, char path[PATH_MAX]);

#endif
