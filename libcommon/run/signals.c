// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/output_file.h"

#define SAME_NS  200000000
#define REPORT_S 1

static struct {
	int fd; /* an eventfd */
	pid_t command;
	pid_t relay;
	int command_fd;                             /* a pidfd */
	uint64_t came_ns;                           /* the last one; 0: none yet */
	volatile sig_atomic_t reporting, in_report; /* the second one: the signal */
	void (*before_exit)(void);
	bool cut; /* for which something of the report is left out */
} signals = { .fd = -1 };

static void pass_on(const siginfo_t *signal)
{
	bool by_terminal = signal->si_code == SI_KERNEL && signal->si_signo != SIGTERM;

	if (signals.command <= 0 || (!signals.relay && by_terminal))
		return;
	/* once it has ended, its number may be somebody else's */
	if (poll(&(struct pollfd){ .fd = signals.command_fd, .events = POLLIN }, 1, 0) > 0)
		return;
	if (by_terminal)
		kill(-signals.command, signal->si_signo);
	else if (!signals.relay || signal->si_pid != signals.relay)
		syscall(SYS_pidfd_send_signal, signals.command_fd, signal->si_signo, NULL, 0);
}

static void came(int number, siginfo_t *signal, void *context)
{
	uint64_t now = clock_ns(), before = signals.came_ns;
	int saved = errno;

	(void)context;
	signals.came_ns = now;
	pass_on(signal);
	if (before && now - before > SAME_NS) {
		output_file_remove();
		if (signals.before_exit)
			signals.before_exit();
		_exit(128 + number);
	}
	if (!before) {
		eventfd_write(signals.fd, 1);
		signals.in_report = signals.reporting ? number : 0;
		if (signals.reporting)
			alarm(REPORT_S);
	}
	errno = saved;
}

static void report_took_too_long(int number)
{
	static const char text[] =
		": a signal ended the report: what was not complete within a second is removed\n";

	(void)number;
	output_file_remove();
	if (write(2, program_invocation_short_name, strlen(program_invocation_short_name)) < 0 ||
	    write(2, text, sizeof(text) - 1) < 0)
		_exit(EXIT_FAILURE);
	_exit(128 + signals.in_report);
}

void signals_before_exit(void (*function)(void))
{
	signals.before_exit = function;
}

bool signals_report_begins(void)
{
	eventfd_t count;

	signal(SIGALRM, report_took_too_long);
	signals.reporting = true;
	/* one that comes from now on cuts the report */
	return !signals.in_report && !eventfd_read(signals.fd, &count);
}

bool signals_cut_report(void)
{
	signals.cut |= signals.in_report != 0;
	return signals.in_report;
}

int signals_report_ends(void)
{
	signals.reporting = false; /* first: a signal sets the alarm if it is set */
	alarm(0);
	return signals.cut ? signals.in_report : 0;
}

int signals_begin(pid_t command, pid_t relay, int command_fd)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_sigaction = came, .sa_flags = SA_SIGINFO | SA_RESTART },
			 before;

	signals.command = command;
	signals.relay = relay;
	signals.command_fd = command_fd;
	signals.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (signals.fd < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaddset(&action.sa_mask, all[i]);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (sigaction(all[i], NULL, &before))
			return -errno;
		if (all[i] == SIGHUP && before.sa_handler == SIG_IGN)
			continue;
		if (sigaction(all[i], &action, NULL))
			return -errno;
	}
	return 0;
}

int signals_fd(void)
{
	return signals.fd;
}
