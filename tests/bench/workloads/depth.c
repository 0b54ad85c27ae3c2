// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depth N: burns CPU time N functions below main, on one stack. depth N many: on 1,000 different
 * stacks that deep, 30 microseconds on each: two functions call each other in the order that the
 * bits of a number give.
 */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned sink;
static int many;

NOINLINE int leaf(void)
{
	do {
		for (int i = 0; i < 20000; i++)
			sink += i;
	} while (!many);
	return sink;
}

NOINLINE int odd(int n, unsigned path);

NOINLINE int even(int n, unsigned path)
{
	volatile int room[6];

	room[n % 6] = n;
	return (n <= 1     ? leaf()
		: path & 1 ? odd(n - 1, path >> 1 | path << 31)
			   : even(n - 1, path >> 1 | path << 31)) +
	       room[n % 6];
}

NOINLINE int odd(int n, unsigned path)
{
	volatile int room[33];

	room[n % 33] = n;
	return (n <= 1     ? leaf()
		: path & 1 ? odd(n - 1, path >> 1 | path << 31)
			   : even(n - 1, path >> 1 | path << 31)) +
	       room[n % 33];
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;

	many = argc > 2;
	for (unsigned i = 0;; i = (i + 1) % 1000)
		sink += even(n, many ? i * 2654435761u : 0);
}
