// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library whose only function burns CPU time. Built as VARIANT 0, 1, 2, ... it lies elsewhere in
 * the file and has a frame of another size, so that it can only be unwound by the table of its own
 * file.
 */
#include <time.h>

#ifndef VARIANT
#define VARIANT 0
#endif

#define TEXT(x) #x
#define NOPS(n) asm(".text\n.skip " TEXT(n) ", 0x90\n")
NOPS(VARIANT * 160);

static volatile unsigned sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) static int inner(double seconds)
{
	volatile char room[40 + 72 * VARIANT];
	double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end)
		for (int i = 0; i < 20000; i++)
			sink += room[i % sizeof(room)] = i;
	return sink;
}

int storm(double seconds)
{
	volatile char room[24 + 56 * VARIANT];

	room[0] = inner(seconds);
	return room[0];
}
