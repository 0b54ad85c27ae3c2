// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * same-address NAME: runs a function of this name that it has made at an address that is the same
 * in each such process; its perf map has the name. Says "ready", and ends after a minute.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* mov $100000, %ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = { 0xb9, 0xa0, 0x86, 0x01, 0x00,
					      0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	void *at = mmap((void *)0x600000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	void (*run)(void);
	char name[64];
	FILE *map;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = at == MAP_FAILED || argc != 2 ? NULL : fopen(name, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx %s\n", (unsigned long)at, sizeof(code), argv[1]);
	fclose(map);
	memcpy(at, code, sizeof(code));
	memcpy(&run, &at, sizeof(run));
	puts("ready");
	fflush(stdout);
	alarm(60);
	for (;;)
		run();
}
