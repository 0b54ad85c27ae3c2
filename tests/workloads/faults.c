// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faults SECONDS: in the kernel most of the time, for 10 ms at a time by page faults, by system
 * calls and, in threads that come and go, by clone and exit.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define BYTES    (4 << 20)

static int zero;
static char buffer[1 << 16];

NOINLINE int touch(volatile char *at)
{
	for (size_t i = 0; i < BYTES; i += 4096)
		at[i] = 1;
	return at[0];
}

NOINLINE int fault(void)
{
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = touch(memory);

	munmap(memory, BYTES);
	return sum;
}

NOINLINE int call(void)
{
	int sum = 0;

	for (int i = 0; i < 200; i++)
		sum += read(zero, buffer, sizeof(buffer));
	return sum;
}

static void *thread(void *arg)
{
	return arg;
}

NOINLINE int come_and_go(void)
{
	pthread_t id;

	for (int i = 0; i < 50; i++)
		if (!pthread_create(&id, NULL, thread, NULL))
			pthread_join(id, NULL);
	return 1;
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static int (*const parts[])(void) = { fault, call, come_and_go };
	double end = argc > 1 ? atof(argv[1]) : 1;

	zero = open("/dev/zero", O_RDONLY);
	for (int part = 0; seconds(CLOCK_PROCESS_CPUTIME_ID) < end; part = (part + 1) % 3)
		for (double begin = seconds(CLOCK_MONOTONIC);
		     seconds(CLOCK_MONOTONIC) < begin + 0.01;)
			if (!parts[part]())
				return 1;
	return 0;
}
