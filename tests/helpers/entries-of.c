// SPDX-License-Identifier: GPL-2.0-or-later
/* entries-of FILE: the vaddrs at which functions begin in code that no FDE covers, a line each. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/code_entries.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1, error;
	struct elf_file file;
	uint64_t *vaddrs;
	size_t nr;

	error = fd < 0 ? -1 : elf_file_open(&file, fd);
	if (!error)
		error = code_entries(&file, &vaddrs, &nr);
	if (error) {
		fprintf(stderr, "entries-of: %s\n", elf_file_explain(error));
		return 1;
	}
	for (size_t i = 0; i < nr; i++)
		printf("%" PRIx64 "\n", vaddrs[i]);
	free(vaddrs);
	elf_file_close(&file);
	return 0;
}
