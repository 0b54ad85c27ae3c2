/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that a tool starts, measures and waits for. */
#ifndef EHPERF_RUN_COMMAND_H
#define EHPERF_RUN_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

/* the user that a command runs as */
struct command_user {
	const char *name, *home, *shell;
	uid_t uid;
	gid_t gid; /* its own group; it gets its other groups, too */
};

/* Finds a user by name or number. False: there is none */
bool command_find_user(const char *name, struct command_user *user);

struct command {
	pid_t pid;
	/* what the tool waits for: the command, or the relay of its terminal (own_session.h) */
	pid_t child;
	int pidfd;     /* readable once the child has ended */
	int own_pidfd; /* of the command itself */
	int gate_fd;
	int error_fd;
};

/*
 * Forks. The child waits at a gate before it executes argv. user NULL: as the user that runs the
 * tool; else as this user, in its own session, with that user's environment, and with the standard
 * descriptors only. 0 or -errno
 */
int command_start(struct command *command, char **argv, const struct command_user *user);
/*
 * Opens the gate. 0 once execvp() has succeeded, or takes long, or a signal has come; or -errno of
 * becoming the user or of execvp()
 */
int command_release(struct command *command);
/* Waits for the command's end: its exit status, or 128 + the signal that killed it */
int command_wait(struct command *command);

#endif
