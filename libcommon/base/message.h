/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between processes, which may carry descriptors: unix(7), SCM_RIGHTS */
#ifndef EHPERF_BASE_MESSAGE_H
#define EHPERF_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MESSAGE_MAX_FDS 2

/* flags: of sendmsg(). False: it was not sent */
bool message_send(int socket, const void *data, size_t bytes, const int *fds, size_t nr_fds, int flags);
/*
 * Its bytes; 0 or less: there is none. The descriptors are the caller's, and end with execve(): *nr_fds at most before, as many
 * as came after.
 */
ssize_t message_receive(int socket, void *data, size_t room, int *fds, size_t *nr_fds);

#endif
