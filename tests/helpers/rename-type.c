// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rename-type OLD NEW <BTF >CHANGED: the kernel's BTF as it would be without a type (or a field) of
 * this name, with the same numbers. Both names are equally long. Exit 1: there is none.
 */
#include <stdio.h>
#include <string.h>

static char btf[64 << 20];

int main(int argc, char **argv)
{
	size_t size = fread(btf, 1, sizeof(btf), stdin),
	       length = argc > 2 ? strlen(argv[1]) + 1 : 0;
	char *at;

	if (!length || strlen(argv[2]) + 1 != length)
		return 2;
	/* all names are in one table, each once, between zeros */
	for (at = btf; (at = memmem(at, btf + size - at, argv[1], length)) && at[-1]; at++)
		;
	if (!at)
		return 1;
	memcpy(at, argv[2], length);
	return fwrite(btf, 1, size, stdout) != size;
}
