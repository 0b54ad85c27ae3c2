// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hard: once through what makes unwinding hard: a realigned frame, variable-length arrays, a call
 * to a noreturn function at a function's very end, cold parts, tail calls, setjmp, a callback out
 * of libc, the vDSO. hard SECONDS: burns that much CPU time in a coroutine on a stack of its own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile long sink;
static jmp_buf back;

NOINLINE long aligned(int n)
{
	volatile long room[8] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca(n);

	for (int i = 0; i < 8; i++)
		room[i] = n + i;
	more[n - 1] = 1;
	sink += (long)room & 63;
	return room[n & 7] + more[n - 1];
}

NOINLINE __attribute__((noreturn)) void leave(int n)
{
	longjmp(back, n);
}

NOINLINE void ends_in_a_call(int n)
{
	leave(n + 1);
}

NOINLINE __attribute__((cold)) int seldom(int n)
{
	return sink += n;
}

NOINLINE int mostly(int n)
{
	if (__builtin_expect(n > 5, 0))
		sink += seldom(n);
	return n;
}

NOINLINE int tail(int n)
{
	return mostly(n + 1);
}

static int compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static ucontext_t coroutine, caller;

static double seconds;

static void in_coroutine(void)
{
	swapcontext(&coroutine, &caller);
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		for (int i = 0; i < 10000; i++)
			sink += aligned(33);
}

static int run_coroutine(void)
{
	static char stack[65536];

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &caller;
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&caller, &coroutine);
	swapcontext(&caller, &coroutine);
	return 0;
}

int main(int argc, char **argv)
{
	char text[64];
	int numbers[] = { 5, 3, 9, 1 };
	struct timespec t;

	if (argc > 1) {
		seconds = atof(argv[1]);
		return run_coroutine();
	}
	sink += aligned(17);
	if (!setjmp(back))
		ends_in_a_call(1);
	sink += tail(2) + tail(7);
	qsort(numbers, 4, sizeof(numbers[0]), compare);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return snprintf(text, sizeof(text), "%f %ld", 1.5, sink) < 0;
}
