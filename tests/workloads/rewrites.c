// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rewrites [ROUNDS]: calls a function in memory of no file, 0.3 s of CPU time long, then writes it
 * anew, with a frame of another size, calls it for 30 ms, and so on. Its frame has old return
 * addresses in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned sink;
static long spin_ns = 300000000;

/* leaves return addresses on the stack */
__attribute__((noinline)) static void leave_addresses(int depth)
{
	if (depth)
		leave_addresses(depth - 1);
	sink++;
}

__attribute__((noinline)) void spin(void)
{
	struct timespec began, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
	do {
		for (int i = 0; i < 10000; i++)
			sink++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < spin_ns);
}

/* sub $frame, %rsp; movabs $spin, %rax; call *%rax; add $frame, %rsp; ret */
static void write_function(uint8_t *at, uint8_t frame)
{
	uint8_t bytes[] = {
		0x48, 0x83, 0xec, frame, 0x48, 0xb8, 0,    0,    0,     0,    0,
		0,    0,    0,    0xff,  0xd0, 0x48, 0x83, 0xc4, frame, 0xc3,
	};
	uint64_t address = (uintptr_t)spin;

	memcpy(bytes + 6, &address, sizeof(address));
	memcpy(at, bytes, sizeof(bytes));
}

__attribute__((noinline)) void call_function(void *function)
{
	((void (*)(void))function)();
	sink++;
}

int main(int argc, char **argv)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rounds = argc > 1 ? atoi(argv[1]) : 40;

	if (code == MAP_FAILED)
		return 1;
	for (int i = 0; i < rounds; i++) {
		write_function(code, 0x18 + 0x10 * (i * 7 % 6));
		leave_addresses(100);
		call_function(code);
		spin_ns = 30000000;
	}
	return 0;
}
