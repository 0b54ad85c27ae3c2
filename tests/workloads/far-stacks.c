// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * far-stacks THREADS [FILE]: threads that sleep for good with their stack pointers at the beginning
 * of one area of 1 MB: of memory that is there, or of FILE, whose pages are read when somebody asks
 * for them. Says "asleep" before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA_BYTES (1 << 20)

static char *area;

static void *pause_there(void *arg)
{
	(void)arg;
	asm volatile("mov %0, %%rsp\n"
		     "1: mov $34, %%eax\n" /* pause() */
		     "syscall\n"
		     "jmp 1b\n" ::"r"(area + 8192 + 64)
		     : "memory");
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1, fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	pthread_attr_t small;
	pthread_t thread;

	if (argc > 2 && fd < 0) {
		perror(argv[2]);
		return 1;
	}
	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE : MAP_PRIVATE, fd, 0);
	if (area == MAP_FAILED)
		return 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, &small, pause_there, NULL))
			return 1;
	puts("asleep");
	fflush(stdout);
	pause();
	return 0;
}
