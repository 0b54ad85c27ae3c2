// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bystander SECONDS: what the kernel's services cost a process, each measured for SECONDS: "NAME
 * NANOSECONDS" a line, the median of batches, since others use the machine, too.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BATCHES 100000
#define PAGES       256

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* each does its service `nr` times, and returns the nanoseconds that this took */

static uint64_t calls(int nr)
{
	uint64_t from = now_ns();

	for (int i = 0; i < nr; i++)
		syscall(SYS_getppid);
	return now_ns() - from;
}

static uint64_t faults(int nr)
{
	static char *memory;
	uint64_t from;

	if (!memory)
		memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
	madvise(memory, PAGES * 4096, MADV_DONTNEED);
	from = now_ns();
	for (int i = 0; i < nr; i++)
		memory[i % PAGES * 4096] = 1;
	return now_ns() - from;
}

static uint64_t mappings(int nr)
{
	uint64_t from = now_ns();

	for (int i = 0; i < nr; i++)
		munmap(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0),
		       65536);
	return now_ns() - from;
}

static uint64_t programs(int nr)
{
	static char *const argv[] = { "true", NULL };
	uint64_t from = now_ns();
	pid_t pid;

	for (int i = 0; i < nr; i++) {
		pid = fork();
		if (!pid) {
			execv("/bin/true", argv);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
	return now_ns() - from;
}

/* two switches for each byte there and back */
static uint64_t switches(int nr)
{
	static int there[2] = { -1, -1 }, back[2];
	uint64_t from;
	char byte = 0;

	if (there[0] < 0) {
		if (pipe(there) || pipe(back))
			abort();
		if (!fork()) {
			close(there[1]);
			close(back[0]);
			while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
				;
			_exit(0);
		}
	}
	from = now_ns();
	for (int i = 0; i < nr; i += 2)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	return now_ns() - from;
}

static int ascending(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static void measure(const char *name, uint64_t (*batch)(int nr), int nr, double seconds)
{
	static double ns[MAX_BATCHES];
	uint64_t end = now_ns() + seconds * 1e9;
	int batches = 0;

	batch(nr);
	while (now_ns() < end && batches < MAX_BATCHES)
		ns[batches++] = (double)batch(nr) / nr;
	qsort(ns, batches, sizeof(*ns), ascending);
	printf("%s %.2f\n", name, ns[batches / 2]);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.2;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	measure("call", calls, 1000, seconds);
	measure("fault", faults, PAGES, seconds);
	measure("mapping", mappings, 100, seconds);
	measure("switch", switches, 200, seconds);
	measure("program", programs, 1, 2 * seconds);
	return 0;
}
