/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT, SIGTERM and SIGHUP, which work at every moment: the first ends what is being waited for, so that
 * what there is gets printed; the second ends the tool at once. One that comes within 200 ms of the one
 * before is the same, sent twice, as timeout(1) does to its process group. If the first comes while the last report is written, it
 * leaves it a second.
 */
#ifndef EHPERF_RUN_SIGNALS_H
#define EHPERF_RUN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * From now on. Signals are passed on to the command, unless pid is 0 or less, or the command has got them, too: from the
 * terminal that it shares with the tool (relay is 0), or by what is typed (the relay of own_session.h has sent them). SIGHUP is
 * left as it is if it is ignored, as under nohup(1). child_fd: a pidfd of the tool's own child; once that has ended, nothing is
 * passed on. -1: there is none. 0 or -errno
 */
int signals_begin(pid_t command, pid_t relay, int child_fd);

/*
 * for poll(): readable when a signal has come that signals_taken() was not called for; it may be left so.
 * -1 before
 */
int signals_fd(void);
void signals_taken(void);

/*
 * The last report begins. If it has not ended a second after the first signal, the tool ends, and removes what is not whole.
 */
void signals_report_begins(void);
/* Has a signal come since? Then the caller leaves out what it has not written. */
bool signals_cut_report(void);
/* The report is written. The signal that cut it, or 0 */
int signals_report_ends(void);

#endif
