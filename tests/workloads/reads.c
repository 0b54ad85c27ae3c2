// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reads FILE COUNT BYTES: reads so many times so many bytes of a file or disk, one after the other
 * and past the page cache, and prints how long each read took by its own clock, in nanoseconds: a
 * line each.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 3 ? strtoul(argv[2], NULL, 0) : 0, start;
	size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	int file = argc > 3 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	unsigned long *took_ns = calloc(count, sizeof(*took_ns));
	void *to = aligned_alloc(4096, bytes);

	if (file < 0 || !took_ns || !to)
		return 2;
	for (unsigned long i = 0; i < count; i++) {
		start = now_ns();
		if (pread(file, to, bytes, i * bytes) != (ssize_t)bytes)
			return 1;
		took_ns[i] = now_ns() - start;
	}
	for (unsigned long i = 0; i < count; i++)
		printf("%lu\n", took_ns[i]);
	return 0;
}
