// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls MODE N [THREADS]: calls functions, and says what it has done. It is stripped; the first
 * line has the addresses of its functions, as the file has them, and then it waits for a line of
 * input.
 *
 *   known      N calls of sleeps() and of spins(), 4 ms each, by turns: "sleeps INSIDE OUTSIDE CPU"
 *              and "spins ..." for each: ns by its own clock from within the function and around
 *              the call, and the thread's CPU time around it. However slow a probe is, INSIDE <=
 *              what is measured <= OUTSIDE
 *   mixed      in each thread N rounds of recursion and of longjmp() out of it: "returned R left
 *              L", of recurses(). After some of the jumps it sleeps: who takes a call that was left
 *              for the next one sees that in it
 *   exit       exits() calls itself, and exit() N deep
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const char __executable_start[];

static atomic_ulong returned, left;
static unsigned long inside_ns; /* of the last sleeps() or spins() */

static unsigned long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

__attribute__((noipa)) static void sleeps(void)
{
	unsigned long start = now_ns(CLOCK_MONOTONIC);

	nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
	inside_ns = now_ns(CLOCK_MONOTONIC) - start;
}

__attribute__((noipa)) static void spins(void)
{
	unsigned long start = now_ns(CLOCK_MONOTONIC),
		      end = now_ns(CLOCK_THREAD_CPUTIME_ID) + 4000000;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	inside_ns = now_ns(CLOCK_MONOTONIC) - start;
}

/* returns unless it jumps, at the depth `jump`, to `to` */
__attribute__((noipa)) static int recurses(int depth, int jump, jmp_buf *to)
{
	int sum = depth;

	if (to && depth == jump)
		longjmp(*to, 1);
	if (depth)
		sum += recurses(depth - 1, jump, to);
	atomic_fetch_add_explicit(&returned, 1, memory_order_relaxed);
	return sum;
}

/* a tail call: both return at once, to leaves()'s caller */
__attribute__((noipa)) static int leaves_inner(int n)
{
	return n + 1;
}

__attribute__((noipa)) static int leaves(int n)
{
	return n ? leaves_inner(n) : 0;
}

static unsigned long rounds;

static void *mixed(void *arg)
{
	jmp_buf back;

	for (volatile unsigned long i = 0; i < rounds; i++) {
		recurses(3, -1, NULL);
		leaves(1);
		if (i % 4)
			continue;
		if (!setjmp(back)) {
			recurses(i % 7, 0, &back);
		} else {
			atomic_fetch_add_explicit(&left, i % 7 + 1, memory_order_relaxed);
			if (i % 32 == 0)
				nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
			recurses(0, -1, NULL);
		}
	}
	return arg;
}

__attribute__((noipa)) static int exits(int depth)
{
	if (!depth)
		exit(left);
	depth = depth < 0 ? 0 : exits(depth - 1);
	asm volatile("" : "+r"(depth)); /* not a loop */
	return depth + 1;
}

__attribute__((noipa)) static void time_call(const char *name, void (*function)(void))
{
	unsigned long start = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

	function();
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%s %lu %lu %lu\n", name, inside_ns, now_ns(CLOCK_MONOTONIC) - start, cpu);
}

static void known(void)
{
	for (unsigned long i = 0; i < rounds; i++) {
		time_call("sleeps", sleeps);
		time_call("spins", spins);
	}
}

#define VADDR(function) (unsigned long)((const char *)(function)-__executable_start)

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t ids[64];

	if (argc < 3 || threads < 1 || threads > 64)
		return 2;
	rounds = strtoul(argv[2], NULL, 10);
	printf("sleeps 0x%lx spins 0x%lx recurses 0x%lx leaves 0x%lx inner 0x%lx exits 0x%lx\n",
	       VADDR(sleeps), VADDR(spins), VADDR(recurses), VADDR(leaves), VADDR(leaves_inner),
	       VADDR(exits));
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	if (!strcmp(argv[1], "known")) {
		known();
	} else if (!strcmp(argv[1], "exit")) {
		exits(rounds);
	} else {
		for (int i = 0; i < threads; i++)
			pthread_create(&ids[i], NULL, mixed, NULL);
		for (int i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
		printf("returned %lu left %lu\n", returned, left);
	}
	printf("done\n");
	fflush(stdout);
	getchar();
	return 0;
}
