// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signals SECONDS: burns CPU time in a signal handler on an alternate stack, which was entered from
 * another handler on the ordinary one, below functions without frame pointers; again and again for
 * that long.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned sink;

NOINLINE int burn(int n)
{
	volatile char room[60];

	for (int i = 0; i < 100000; i++)
		sink += room[i % sizeof(room)] = n;
	return room[0];
}

static void inner(int signal)
{
	sink += burn(signal);
}

static void outer(int signal)
{
	kill(getpid(), SIGUSR2);
	sink += signal;
}

NOINLINE int below(int n)
{
	volatile char room[500];

	room[n % 500] = n;
	kill(getpid(), SIGUSR1);
	return room[n % 500];
}

int main(int argc, char **argv)
{
	stack_t alternate = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction on_usr1 = { .sa_handler = outer },
			 on_usr2 = { .sa_handler = inner, .sa_flags = SA_ONSTACK };
	double seconds = argc > 1 ? atof(argv[1]) : 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &on_usr1, NULL);
	sigaction(SIGUSR2, &on_usr2, NULL);
	do
		sink += below(1);
	while ((double)clock() / CLOCKS_PER_SEC < seconds);
	return 0;
}
