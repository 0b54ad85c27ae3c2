// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/priority.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST (-20)
/* who has run for more than a quarter of the last half second takes much */
#define WATCHED_NS 500000000
#define LITTLE     4

/* a start that takes more than this of a CPU looks through large files, which is not urgent */
#define BEGINNING_CPU_MS 1000

static bool begun;

/*
 * With more runnable threads than this on a CPU, even a thread with the nice value -20 waits too
 * long.
 */
#define CROWD 32

static bool is_crowded(void)
{
	unsigned long runnable = 0;
	FILE *file = fopen("/proc/loadavg", "re");

	if (file) {
		if (fscanf(file, "%*s %*s %*s %lu", &runnable) != 1)
			runnable = 0;
		fclose(file);
	}
	return runnable > CROWD * (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What the thread starts has the normal priority. */
static void set_policy(pid_t tid, int policy)
{
	const struct sched_param parameters = { .sched_priority = sched_get_priority_min(policy) };

	sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &parameters);
}

/*
 * tid: 0 is the calling thread. Where real time is not allowed, as in some cgroups, the nice value
 * remains.
 */
static int go_first(pid_t tid)
{
	if (setpriority(PRIO_PROCESS, tid, FIRST))
		return -1;
	set_policy(tid, is_crowded() ? SCHED_RR : SCHED_OTHER);
	return 0;
}

static void go_last(pid_t tid)
{
	set_policy(tid, SCHED_OTHER);
	setpriority(PRIO_PROCESS, tid, 0);
}

static void leave(int signal)
{
	int saved = errno;

	(void)signal;
	go_last(getpid());
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
	if (begun && !go_first(0))
		priority_leave_after(cpu_ms);
}

void priority_begin(void)
{
	begun = !getpriority(PRIO_PROCESS, 0) && sched_getscheduler(0) == SCHED_OTHER &&
		!go_first(0);
	priority_leave_after(BEGINNING_CPU_MS);
}

int priority_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	struct sched_param parameters;
	int policy = sched_getscheduler(0), error;
	bool inherits = begun && policy >= 0 && !sched_getparam(0, &parameters) &&
			!sched_setscheduler(0, policy & ~SCHED_RESET_ON_FORK, &parameters);

	error = -pthread_create(thread, NULL, run, arg);
	if (inherits)
		sched_setscheduler(0, policy, &parameters);
	return error;
}

void priority_watch(struct priority_watch *watch, pid_t tid, uint64_t ran_ns)
{
	uint64_t now = clock_ns();
	bool is_due = now - watch->since_ns >= WATCHED_NS, is_new = watch->tid != tid;

	if (!begun || (!is_due && !is_new))
		return;
	if (is_new) {
		watch->tid = tid;
		watch->ran_ns = ran_ns;
	}
	if (is_due) {
		watch->takes_much = (ran_ns - watch->ran_ns) * LITTLE > now - watch->since_ns;
		watch->since_ns = now;
		watch->ran_ns = ran_ns;
	}
	if (watch->takes_much)
		go_last(tid);
	else
		go_first(tid);
}
