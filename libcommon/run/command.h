/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that a tool starts, measures and waits for. */
#ifndef EHPERF_RUN_COMMAND_H
#define EHPERF_RUN_COMMAND_H

#include <sys/types.h>

struct command {
	pid_t pid;
	int pidfd;	/* readable when it has ended */
	int gate_fd;
	int error_fd;
};

/* Forks; the child waits at the gate before it becomes argv. 0 or -errno */
int command_start(struct command *command, char **argv);
/* Opens the gate. 0 once the command has been executed, or the -errno of that */
int command_release(struct command *command);
/* Waits for its end: its exit status, 128 + signal where one killed it */
int command_wait(struct command *command);

#endif
