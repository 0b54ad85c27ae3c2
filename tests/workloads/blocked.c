// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blocked: four threads that sleep from their start on until SIGUSR1, and then burn 0.5 s of CPU
 * time each.
 */
#include <pthread.h>
#include <signal.h>
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

static volatile sig_atomic_t awake;

static void wake(int number)
{
	awake = number;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *thread(void *arg)
{
	while (!awake)
		usleep(100000);
	while (cpu_seconds() < 0.5)
		for (int i = 0; i < 1000; i++)
			sink += work(10);
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	signal(SIGUSR1, wake);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
