// SPDX-License-Identifier: GPL-2.0-or-later
/* crowd NUMBER SECONDS: so many threads that are always runnable, for so long */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *spin(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	for (volatile unsigned long turns = 0; ; turns++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < (argc > 2 ? atoi(argv[1]) : 0); i++) {
		pthread_t thread;

		if (pthread_create(&thread, &small, spin, NULL)) {
			fprintf(stderr, "crowd: only %d threads\n", i);
			return 1;
		}
	}
	puts("all wait");
	fflush(stdout);
	pthread_mutex_unlock(&gate);
	sleep(argc > 2 ? atoi(argv[2]) : 0);
	return 0;
}
