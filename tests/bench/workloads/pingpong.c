// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pingpong [SECONDS]: two processes on one CPU hand a byte back and forth through pipes; prints
 * microseconds per round.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2, start, took;
	int there[2], back[2];
	cpu_set_t cpu;
	long rounds = 0;
	pid_t child;
	char c = 0;

	CPU_ZERO(&cpu);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) || pipe(there) || pipe(back))
		return 1;
	child = fork();
	close(child ? there[0] : there[1]); /* so that neither outlives the other */
	close(child ? back[1] : back[0]);
	if (!child)
		for (;;)
			if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
				_exit(1);
	start = now();
	do {
		for (int i = 0; i < 100; i++, rounds++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 1;
		took = now() - start;
	} while (took < seconds);
	printf("%.3f\n", took / rounds * 1e6);
	kill(child, SIGKILL);
	wait(NULL);
	return 0;
}
