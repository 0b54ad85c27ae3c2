// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ten functions below main, none inlined, none with a frame pointer. nested sleep: at the bottom, sleeps
 * 20 microseconds again and again; nested hold: sleeps there for good; nested burn SECONDS: burns that
 * much CPU time there and exits; nested thread: the first, in a second thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *mode;
static double seconds;
static volatile unsigned sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE int f10(int x)
{
	struct timespec brief = { .tv_nsec = 20000 }, forever = { .tv_sec = 100000 };

	if (!strcmp(mode, "burn")) {
		while (cpu_seconds() < seconds)
			for (int i = 0; i < 100000; i++)
				sink += i;
		return x;
	}
	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "hold"))
		nanosleep(&forever, NULL);
	for (;;)
		nanosleep(&brief, NULL);
}

#define CALL(name, callee, bytes)			\
NOINLINE int name(int x)				\
{							\
	volatile char room[bytes];			\
							\
	room[x % sizeof(room)] = x;			\
	return callee(x + 1) + room[x % sizeof(room)];	\
}
CALL(f9, f10, 8)
CALL(f8, f9, 100)
CALL(f7, f8, 5000)
CALL(f6, f7, 16)
CALL(f5, f6, 40000)
CALL(f4, f5, 24)
CALL(f3, f4, 333)
CALL(f2, f3, 64)
CALL(f1, f2, 1)

static void *in_thread(void *arg)
{
	sink += f1(1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	mode = argc > 1 ? argv[1] : "sleep";
	seconds = argc > 2 ? atof(argv[2]) : 1;
	if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	}
	return f1(1) == 12345;
}
