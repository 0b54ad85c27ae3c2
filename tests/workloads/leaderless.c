// SPDX-License-Identifier: GPL-2.0-or-later
/* leaderless SECONDS: its first thread exits, a second one burns CPU time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

static void *burn(void *seconds)
{
	time_t end = time(NULL) + atoi(seconds);

	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		for (int i = 0; i < 1000000; i++)
			sink += i;
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, burn, argc > 1 ? argv[1] : "10");
	pthread_exit(NULL);
}
