/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of mapped files, each kept once however many mappings have it: who maps one long path again and
 * again takes no more memory for it. One thread's; not to be changed.
 */
#ifndef EHPERF_PROCESS_PATHS_H
#define EHPERF_PROCESS_PATHS_H

/* Equal texts are the same pointer. NULL: no memory */
char *path_get(const char *text);
/* one user more of what path_get() has returned */
char *path_share(char *path);
/* one user less; NULL may be released */
void path_release(char *path);

#endif
