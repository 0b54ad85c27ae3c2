// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moved-text remap SECONDS: burns in code of its file that mremap() has moved elsewhere, of which
 * no record tells. moved-text copy SECONDS: in code that was copied to nameless memory at its own
 * address, as programs do that want huge pages for it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE     4096
#define NOINLINE __attribute__((noinline, noclone, noipa))

/* alone in its page, and dependent on nothing around it */
NOINLINE __attribute__((section(".text.moved"), aligned(PAGE))) int burn(int (*goes_on)(void))
{
	volatile char room[200];

	while (goes_on())
		for (int i = 0; i < 100000; i++)
			room[i % sizeof(room)] = i;
	return room[0];
}

NOINLINE __attribute__((section(".text.moved"), aligned(PAGE))) int
call(int (*moved)(int (*)(void)), int (*goes_on)(void))
{
	volatile char room[77];

	room[0] = moved(goes_on);
	return room[0];
}

static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int goes_on(void)
{
	return now() < end;
}

int main(int argc, char **argv)
{
	int copied = argc < 2 || !strcmp(argv[1], "copy");
	char *elsewhere =
		     mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *at;

	if (copied) {
		memcpy(elsewhere, (char *)burn, PAGE);
		mprotect(elsewhere, PAGE, PROT_READ | PROT_EXEC);
		at = mremap(elsewhere, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)burn);
	} else {
		at = mremap((char *)burn, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
	}
	if (at == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	end = now() + (argc > 2 ? atof(argv[2]) : 1000);
	return call((int (*)(int (*)(void)))at, goes_on) == 12345;
}
