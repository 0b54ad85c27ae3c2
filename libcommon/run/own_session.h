/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session for a command that runs as another user: it must not touch its caller's terminal, where a password may be typed
 * next. If the caller has a terminal, the command gets a pseudo-terminal instead of it, as by sudo's use_pty. Three processes
 * take part:
 *
 *   relay      The child of the tool, in the tool's process group: so the caller's shell stops and continues it with the tool,
 *              and the kernel lets it read the terminal only in the foreground. It copies what is typed and what is shown,
 *              and restores the terminal's mode, also if the tool is killed.
 *   monitor    The session's leader, and the command's parent: so the command can be stopped. It waits for it.
 *   command    In a process group of its own.
 *
 * The terminal's mode is left alone until the command wants to read: at once, unless the tool is in the background, or its
 * standard input is no terminal, or its standard output is a pipe, whose reader may want the terminal (less(1)).
 */
#ifndef EHPERF_RUN_OWN_SESSION_H
#define EHPERF_RUN_OWN_SESSION_H

#include <sys/types.h>

/*
 * For a child of `tool`, just forked. Returns in the process that is to become the command, whose terminals among the
 * standard descriptors are the pseudo-terminal then, which belongs to this user. Others exit with the command's status, or 128
 * + the signal that killed it. start_fd: only the command and its parents before it keep it open.
 */
void own_session_begin(pid_t tool, uid_t user, int gate_fd, int start_fd);

/* The command, at the end of its waiting: from now on it may read what is typed. */
void own_session_ready(void);

#endif
