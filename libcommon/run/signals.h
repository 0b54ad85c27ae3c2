/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT, SIGTERM and SIGHUP. The first one ends the measurement, so that the tool reports; the
 * second one ends the tool at once. If the first one comes while the last report is written, the
 * report may go on for a second.
 *
 * timeout(1) sends a signal twice, once to the tool and once to its process group: so a signal
 * within 200 ms of the previous one is ignored.
 */
#ifndef EHPERF_RUN_SIGNALS_H
#define EHPERF_RUN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Begins to handle signals. They are passed on to the command, unless `command` is 0 or less, or
 * the command has got them from a terminal: the one that it shares with the tool (relay is 0), or
 * its own (then `relay`, of own_session.h, has sent them). SIGHUP stays ignored if it is, as under
 * nohup(1). command_fd: the command's pidfd; -1: none. 0 or -errno
 */
int signals_begin(pid_t command, pid_t relay, int command_fd);

/* for poll(): readable after a signal, until the last report begins. -1 before signals_begin() */
int signals_fd(void);

/* To be called when the second signal ends the tool, in its handler; NULL: nothing */
void signals_before_exit(void (*function)(void));

/*
 * The last report begins. If it has not ended a second after a first signal that comes from now on,
 * the tool ends, and removes incomplete files. Has a signal come before? Then it does not cut the
 * report, and is not readable any more.
 */
bool signals_report_begins(void);
/* Has a signal come since? Then the caller leaves out what it has not written. */
bool signals_cut_report(void);
/* The report is written. The signal that cut it, or 0 */
int signals_report_ends(void);

#endif
