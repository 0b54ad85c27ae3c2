// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ten functions below main, none inlined, none with a frame pointer. nested sleep: at the bottom,
 * sleeps 20 microseconds again and again; nested hold: sleeps there for good; nested burn SECONDS:
 * burns that much CPU time there and exits; nested brief SECONDS: the same without the functions
 * that have large frames; nested thread: the first, in a second thread.
 *
 * After SECONDS: exec COMMAND..., becomes that; fork, a child burns as much; thread COMMAND..., a
 * second thread forks a child that becomes that; leave, the main thread ends and a second one burns
 * as much.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/calls.h"

static const char *mode;
static double seconds, started;
static char **command;
static volatile unsigned sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

NOINLINE int f10(int x)
{
	struct timespec brief = { .tv_nsec = 20000 }, forever = { .tv_sec = 100000 };

	if (seconds) {
		while (cpu_seconds() < started + seconds)
			/* arm64's vDSO has no CFI: be there seldom */
			for (int i = 0; i < 500000; i++)
				sink += i;
		return x;
	}
	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "hold"))
		nanosleep(&forever, NULL);
	for (;;)
		nanosleep(&brief, NULL);
}

CALL(f9, f10, 8)
CALL(f8, f9, 100)
CALL(f7, f8, 5000)
CALL(f6, f7, 16)
CALL(f5, f6, 40000)
CALL(f4, f5, 24)
CALL(f3, f4, 333)
CALL(f2, f3, 64)
CALL(f1, f2, 1)

static void *in_thread(void *arg)
{
	sink += f1(1);
	return arg;
}

static void *in_thread_burn(void *arg)
{
	started = cpu_seconds();
	sink += f1(1);
	exit(0);
	return arg;
}

static void *in_thread_exec(void *arg)
{
	if (!fork()) {
		execv(command[0], command);
		_exit(1);
	}
	return arg;
}

/* true: in a child, which is to burn as its parent did */
static bool then(char **argv)
{
	pthread_t thread;

	command = argv + 1;
	if (!strcmp(argv[0], "exec")) {
		execv(command[0], command);
	} else if (!strcmp(argv[0], "fork")) {
		argv[0] = "no more";
		if (!fork())
			return true;
	} else if (!strcmp(argv[0], "thread")) {
		pthread_create(&thread, NULL, in_thread_exec, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(argv[0], "leave")) {
		pthread_create(&thread, NULL, in_thread_burn, NULL);
		pthread_exit(NULL);
	}
	while (wait(NULL) > 0)
		;
	return false;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int result;

	mode = argc > 1 ? argv[1] : "sleep";
	seconds = argc > 2 ? atof(argv[2]) : 0;
	if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	}
	do {
		started = cpu_seconds();
		result = strcmp(mode, "brief") ? f1(1) : f8(1);
	} while (argc > 3 && then(argv + 3));
	return result == 12345;
}
