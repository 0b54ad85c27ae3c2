// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * garbage-text FILE: writes machine code that loops for ever into FILE, which is no ELF file, and
 * runs it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const unsigned char loop[4096] = { 0xeb, 0xfe }; /* jmp . */
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0755);
	void *code;

	if (fd < 0 || write(fd, loop, sizeof(loop)) != sizeof(loop))
		return 1;
	code = mmap(NULL, sizeof(loop), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	((void (*)(void))code)();
}
