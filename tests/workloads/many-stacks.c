// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * many-stacks THREADS: threads that sleep for a moment, each time in another stack of 60 frames,
 * until it is killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int left(uint64_t way, int depth), right(uint64_t way, int depth);

/*
 * The compiler must not see that a call is the last thing that is done, nor that both functions do
 * the same.
 */
#define STEP(name, number)                                                 \
	__attribute__((noinline)) static int name(uint64_t way, int depth) \
	{                                                                  \
		int steps = depth == 0 ? usleep(1)                         \
			    : way & 1  ? left(way >> 1, depth - 1)         \
				       : right(way >> 1, depth - 1);        \
                                                                           \
		asm volatile("" : "+r"(steps) : "i"(number));              \
		return steps + 1;                                          \
	}

STEP(left, 1)
STEP(right, 2)

static void *run(void *seed)
{
	for (uint64_t way = (uint64_t)seed * 0x9e3779b97f4a7c15;;
	     way = way * 6364136223846793005 + 1442695040888963407)
		left(way ^ way >> 29, 60);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (long i = argc > 1 ? atol(argv[1]) : 1; i > 0; i--)
		pthread_create(&thread, NULL, run, (void *)i);
	pause();
}
