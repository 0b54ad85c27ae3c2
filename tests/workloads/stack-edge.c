// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack-edge BYTES: loops for ever with rsp BYTES below the end of a mapping that nothing follows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	char *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *rsp = pages + 2 * 4096 - (argc > 1 ? atoi(argv[1]) : 4);

	munmap(pages + 2 * 4096, 4096);
	puts("ready");
	fflush(stdout);
	__asm__ volatile("mov %0, %%rsp\n1: jmp 1b" : : "r"(rsp));
	__builtin_unreachable();
}
