// SPDX-License-Identifier: GPL-2.0-or-later
/* blocked: four threads that sleep for 1.5 s from their start on, and then burn CPU time for 1.5 s. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

NOINLINE static unsigned long work(int depth)
{
	unsigned long sum = depth;

	for (int i = 0; i < 300; i++)
		sum = sum * 31 + i;
	sink += sum;
	return depth ? sum + work(depth - 1) : sum;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *thread(void *arg)
{
	double start;

	usleep(1500000);
	for (start = now(); now() - start < 1.5;)
		for (int i = 0; i < 1000; i++)
			sink += work(10);
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
