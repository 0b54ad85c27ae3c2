// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep N [BYTES [sleep]]: burns CPU time N functions below main, each with a frame of that many
 * bytes more; sleep: sleeps 10 milliseconds there, again and again, instead.
 */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sink, stop;
static size_t bytes;
static int sleeps;

__attribute__((noinline, noclone)) static int down(int n)
{
	char *room = alloca(bytes + 1);

	room[0] = n;
	if (n <= 1) {
		puts("ready");
		fflush(stdout);
		while (!stop) {
			if (sleeps)
				usleep(10000);
			sink++;
		}
		return 0;
	}
	memset(room, n, bytes);
	return down(n - 1) + room[0];
}

int main(int argc, char **argv)
{
	bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	sleeps = argc > 3 && !strcmp(argv[3], "sleep");
	return down(argc > 1 ? atoi(argv[1]) : 1000) == 12345;
}
