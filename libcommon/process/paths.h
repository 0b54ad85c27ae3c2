/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of mapped files, each kept once for all mappings: a process that maps one long path many
 * times takes no more memory. For one thread; not to be changed.
 */
#ifndef EHPERF_PROCESS_PATHS_H
#define EHPERF_PROCESS_PATHS_H

/* Equal texts are the same pointer. NULL: no memory */
char *path_get(const char *text);
/* adds a user of a path that path_get() has returned */
char *path_share(char *path);
/* removes a user; path may be NULL */
void path_release(char *path);

#endif
