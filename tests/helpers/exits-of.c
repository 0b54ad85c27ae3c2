// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exits-of FILE PATTERN: for each function of the file whose name matches, a line: NAME VADDR, then
 * "-" where not all of its exits are known, else "stack" or "exits" (may a return probe be set?)
 * and the vaddrs at which it returns.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "dwarf/functions.h"
#include "table/function_exits.h"

int main(int argc, char **argv)
{
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct code_bounds *bounds;
	struct functions functions;
	struct elf_file file;

	options.path = argv[1];
	if (fd < 0 || elf_file_open(&file, fd) ||
	    functions_find(&functions, &file, &options, argv[2]))
		return 1;
	bounds = code_bounds_read(&file, true);
	if (!bounds)
		return 1;
	for (size_t i = 0; i < functions.nr; i++) {
		struct function_exits exits = {};
		uint64_t vaddr;

		printf("%s 0x%" PRIx64, functions.functions[i].name, functions.functions[i].vaddr);
		if (function_exits_find(&exits, bounds, functions.functions[i].vaddr,
					functions.functions[i].bytes))
			printf(" -");
		else
			printf(" %s", exits.returns_by_stack ? "stack" : "exits");
		for (size_t e = 0; e < exits.nr; e++)
			if (elf_file_vaddr_of(&file, exits.exits[e].file_offset, &vaddr))
				printf(" 0x%" PRIx64, vaddr);
		putchar('\n');
		function_exits_free(&exits);
	}
	functions_free(&functions);
	code_bounds_free(bounds);
	elf_file_close(&file);
	return 0;
}
