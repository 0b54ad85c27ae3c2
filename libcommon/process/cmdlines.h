/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of processes, by PID. They are read when a process is met, because it may end before anybody wants them; by a
 * worker (process/workers.h), because a process can keep its reader waiting.
 */
#ifndef EHPERF_PROCESS_CMDLINES_H
#define EHPERF_PROCESS_CMDLINES_H

#include <stdint.h>
#include <sys/types.h>

/* A command line that is longer is cut, and ends in "…" */
#define MAX_CMDLINE_BYTES 120
/* of more processes at a time, those that come later have none */
#define MAX_CMDLINES (1 << 15)

struct cmdlines;

/* 0 or -errno */
int cmdlines_new(struct cmdlines **cmdlines);
void cmdlines_free(struct cmdlines *cmdlines);

/*
 * The process was met, as this program: another number is another program, of which nothing is known yet; 0: it is not known
 * which. 0 or -ENOMEM
 */
int cmdlines_see(struct cmdlines *cmdlines, pid_t pid, uint64_t program);
/* To be called several times a second: takes what was read, and has read what was met. 0 or -ENOMEM */
int cmdlines_follow(struct cmdlines *cmdlines);
/* Waits until all were read, so long at most. 0 or -ENOMEM */
int cmdlines_settle(struct cmdlines *cmdlines, unsigned ms);
/* Its words, separated by blanks. NULL: not known, or there is none. Valid until the next call of another function */
const char *cmdlines_get(const struct cmdlines *cmdlines, pid_t pid);
/* Forgets all. */
void cmdlines_forget(struct cmdlines *cmdlines);

#endif
