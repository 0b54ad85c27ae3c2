// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * new-threads MAKERS: so many threads make threads that live shortly, name themselves anew and
 * sleep, 40 times each, until it is killed: each name and each thread is another key of a table.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MOST 1500 /* at a time */

static long nr, alive;

static void *sleeper(void *arg)
{
	struct timespec moment = { .tv_nsec = 1000 };
	char name[16];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "k%lx", __atomic_add_fetch(&nr, 1, __ATOMIC_RELAXED));
		prctl(PR_SET_NAME, name);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	}
	__atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *maker(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while (nr >= 0) {
		if (__atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED) < MOST &&
		    !pthread_create(&thread, &attr, sleeper, arg))
			continue;
		__atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
		usleep(100);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2) {
		fputs("usage: new-threads MAKERS\n", stderr);
		return 2;
	}
	for (int i = 0; i < atoi(argv[1]); i++)
		if (pthread_create(&thread, NULL, maker, NULL))
			return 1;
	pause();
}
