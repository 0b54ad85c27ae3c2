/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of processes, by PID. They are read when a process is met, because it may end
 * before anybody wants them; by a worker (process/workers.h), because a process can keep its reader
 * waiting.
 */
#ifndef EHPERF_PROCESS_CMDLINES_H
#define EHPERF_PROCESS_CMDLINES_H

#include <stdint.h>
#include <sys/types.h>

/* A command line that is longer is cut, and ends in "…" */
#define MAX_CMDLINE_BYTES 120
/* most processes at a time; later ones have no command line */
#define MAX_CMDLINES (1 << 15)

struct cmdlines;

/* 0 or -errno */
int cmdlines_new(struct cmdlines **cmdlines);
void cmdlines_free(struct cmdlines *cmdlines);

/*
 * The process was seen, with this number of its program: after a new number, the command line is
 * read again; 0: the number is not known. 0 or -ENOMEM
 */
int cmdlines_see(struct cmdlines *cmdlines, pid_t pid, uint64_t program);
/*
 * To be called several times a second: takes what was read, and asks for processes that were seen.
 * 0 or -ENOMEM
 */
int cmdlines_follow(struct cmdlines *cmdlines);
/* Waits until all were read, at most this long. 0 or -ENOMEM */
int cmdlines_settle(struct cmdlines *cmdlines, unsigned ms);
/*
 * Its words, separated by blanks. NULL: not known, or there is none. Valid until the next call of
 * another function
 */
const char *cmdlines_get(const struct cmdlines *cmdlines, pid_t pid);
/* Forgets all. */
void cmdlines_forget(struct cmdlines *cmdlines);

#endif
