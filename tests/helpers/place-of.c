// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * place-of FILE: for each vaddr on stdin, in hexadecimal, a line "0xVADDR", then a line for each
 * place, the innermost first: "FUNCTION<tab>FILE:LINE", as eu-addr2line -a -i -f does it in two;
 * FUNCTION is - for the one that symbols name.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "dwarf/source_places.h"

static bool open_file(void *arg, struct opened_elf *opened, struct debug_key *debug)
{
	*opened = (struct opened_elf){ .fd = open(arg, O_RDONLY) };
	*debug = (struct debug_key){};
	return opened->fd >= 0;
}

int main(int argc, char **argv)
{
	const struct source_place *found;
	struct source_places *places;
	struct rusage usage;
	uint64_t vaddr;

	if (argc != 2 || source_places_new(&places, 0, true))
		return 2;
	while (scanf("%" SCNx64, &vaddr) == 1) {
		size_t nr = source_places_find(places, vaddr, open_file, argv[1], &found);

		printf("0x%" PRIx64 "\n", vaddr);
		for (size_t i = 0; i < nr; i++)
			printf("%s\t%s:%u\n", found[i].raw_name ? found[i].raw_name : "-",
			       found[i].file ? found[i].file : "??", found[i].line);
	}
	fprintf(stderr, "%" PRIu64 " given up\n", source_places_refused(places));
	source_places_free(places);
	getrusage(RUSAGE_CHILDREN, &usage);
	fprintf(stderr, "%ld kB resident at most\n", usage.ru_maxrss);
	return 0;
}
