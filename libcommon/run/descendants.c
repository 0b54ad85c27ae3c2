// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/descendants.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/object.h"
#include "report/counted.h"
#include "run/cli.h"
#include "run/command.h"

#define END_S    1 /* how long processes may take to end */
#define LOOK_US  20000
#define MAX_SAID 8 /* processes named in a message */

static bool is_alive(pid_t pid)
{
	struct pollfd fd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool ended = fd.fd < 0 ? errno == ESRCH : poll(&fd, 1, 0) > 0;

	if (fd.fd >= 0)
		close(fd.fd);
	return !ended;
}

size_t descendants_alive(const struct bpf_object *object, uint32_t **pids)
{
	uint32_t *listed;
	size_t nr, alive = 0;

	cli_check(object_listed_ids(object, "listed_pids", &listed, &nr), "watch the processes");
	for (size_t i = 0; i < nr; i++)
		if (is_alive(listed[i]))
			listed[alive++] = listed[i];
	if (pids)
		*pids = listed;
	else
		free(listed);
	return alive;
}

/*
 * Once one has ended, its number may be somebody else's: only what is still listed when the pidfd
 * is open gets the signal.
 */
static void terminate(const struct bpf_object *object, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (object_is_listed(object, "listed_pids", pid))
		syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
	close(fd);
}

void descendants_terminate(const struct bpf_object *object, const struct command *command)
{
	uint32_t *pids;
	size_t nr = descendants_alive(object, &pids);

	syscall(SYS_pidfd_send_signal, command->own_pidfd, SIGTERM, NULL, 0);
	for (size_t i = 0; i < nr; i++)
		if (pids[i] != (uint32_t)command->pid)
			terminate(object, pids[i]);
	free(pids);
}

void descendants_say_left(const struct bpf_object *object)
{
	const double until = clock_seconds() + END_S;
	char said[MAX_SAID * sizeof(", 4294967295")] = "";
	uint32_t *pids;
	size_t nr, at = 0;

	while (descendants_alive(object, NULL) && clock_seconds() < until)
		usleep(LOOK_US);
	nr = descendants_alive(object, &pids);
	for (size_t i = 0; i < nr && i < MAX_SAID; i++)
		at += snprintf(said + at, sizeof(said) - at, "%s%" PRIu32, i ? ", " : "", pids[i]);
	if (nr)
		cli_warn("%s of the command still running after SIGTERM: %s%s",
			 counted(nr, "processes").text, said, nr > MAX_SAID ? ", ..." : "");
	free(pids);
}
