/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that a tool starts, measures and waits for. */
#ifndef EHPERF_RUN_COMMAND_H
#define EHPERF_RUN_COMMAND_H

#include <sys/types.h>

struct command {
	pid_t pid;
	int pidfd;	/* readable once the command has ended */
	int gate_fd;
	int error_fd;
};

/* Forks. The child waits at a gate before it executes argv. 0 or -errno */
int command_start(struct command *command, char **argv);
/* Opens the gate. 0 once execvp() has succeeded, or its -errno */
int command_release(struct command *command);
/* Waits for the command's end: its exit status, or 128 + the signal that killed it */
int command_wait(struct command *command);

#endif
