// SPDX-License-Identifier: GPL-2.0-or-later
/* crowd NUMBER SECONDS: so many threads that are always runnable, for so long */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t gate;

static void *spin(void *arg)
{
	pthread_barrier_wait(&gate);
	for (volatile unsigned long turns = 0;; turns++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[1]) : 0;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&gate, NULL, number + 1);
	for (int i = 0; i < number; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &small, spin, NULL)) {
			fprintf(stderr, "crowd: only %d threads\n", i);
			return 1;
		}
	}
	puts("all wait");
	fflush(stdout);
	pthread_barrier_wait(&gate);
	sleep(argc > 2 ? atoi(argv[2]) : 0);
	return 0;
}
