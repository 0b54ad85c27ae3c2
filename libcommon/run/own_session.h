/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session for a command that runs as another user: it must not touch its caller's terminal, where
 * a password may be typed next. If the caller has a terminal, the command gets a pseudo-terminal
 * instead of it, as by sudo's use_pty. Three processes take part:
 *
 *   relay      The child of the tool, in the tool's process group. So the caller's shell stops and
 *              continues it with the tool, and the kernel lets it read the terminal only in the
 *              foreground. It copies input and output, and restores the terminal's mode, also if
 *              the tool is killed.
 *   monitor    The session's leader, and the command's parent, so that the command can be stopped.
 *              It waits for the command.
 *   command    In its own process group.
 *
 * The terminal's mode is changed at once, except in three cases: the tool is in the background; its
 * standard input is not a terminal; or its standard output is a pipe, whose reader may use the
 * terminal (less(1)). Then it is changed when the command wants to read.
 */
#ifndef EHPERF_RUN_OWN_SESSION_H
#define EHPERF_RUN_OWN_SESSION_H

#include <sys/types.h>

/*
 * For a child of `tool`, just forked. Returns in the process that is to become the command. There,
 * standard descriptors that were terminals are the pseudo-terminal, which belongs to this user. The
 * relay and the monitor exit with the command's status, or 128 + the signal that killed it.
 * start_fd: kept open only by the command and, until then, by its parents.
 */
void own_session_begin(pid_t tool, uid_t user, int gate_fd, int start_fd);

/* Called in the command's process when its gate opens: from now on it may read input. */
void own_session_ready(void);

#endif
