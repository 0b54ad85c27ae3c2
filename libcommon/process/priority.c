// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/priority.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "process/clock.h"

#define FIRST (-20)
/* who has run for more than a quarter of the last half second takes much */
#define WATCHED_NS 500000000
#define LITTLE 4

/* a start that takes more than this of a CPU looks through large files, which is not urgent */
#define BEGINNING_CPU_MS 1000

static bool begun;

void priority_leave(void)
{
	if (begun)
		setpriority(PRIO_PROCESS, 0, 0);
}

static void leave(int signal)
{
	int saved = errno;

	(void)signal;
	setpriority(PRIO_PROCESS, getpid(), 0);
	errno = saved;
}

void priority_leave_after(unsigned cpu_ms)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_RESTART };
	struct itimerval timer = { .it_value = { cpu_ms / 1000, cpu_ms % 1000 * 1000 } };

	if (begun && !sigaction(SIGPROF, &action, NULL))
		setitimer(ITIMER_PROF, &timer, NULL);
}

void priority_take_for(unsigned cpu_ms)
{
	if (begun && !setpriority(PRIO_PROCESS, 0, FIRST))
		priority_leave_after(cpu_ms);
}

void priority_begin(void)
{
	begun = !getpriority(PRIO_PROCESS, 0) && !setpriority(PRIO_PROCESS, 0, FIRST);
	priority_leave_after(BEGINNING_CPU_MS);
}

void priority_watch(struct priority_watch *watch, pid_t tid, uint64_t ran_ns)
{
	uint64_t now = clock_ns();
	bool takes_much = (ran_ns - watch->ran_ns) * LITTLE > now - watch->since_ns;

	if (!begun || now - watch->since_ns < WATCHED_NS)
		return;
	setpriority(PRIO_PROCESS, tid, takes_much ? 0 : FIRST);
	*watch = (struct priority_watch){ now, ran_ns };
}
