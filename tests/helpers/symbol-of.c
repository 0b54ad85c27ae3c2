// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * symbol-of [-n] [-f] [-e] [-d DEBUG_DIR] [-r ROOT] FILE: for each vaddr on stdin, in hexadecimal,
 * a line "VADDR FUNCTION_VADDR|- SOURCE|- RAW_NAME NAME". -n: not demangled; -f: ask debuginfod;
 * -e: with the starts that the code itself tells.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dwarf/symbols.h"
#include "process/debuginfod.h"
#include "table/code_entries.h"

static void print(struct symbols *symbols, struct elf_file *file, uint64_t vaddr)
{
	struct symbol symbol;
	uint64_t offset;

	if (!elf_file_offset_of(file, vaddr, &offset) || !symbols_find(symbols, offset, &symbol)) {
		printf("%" PRIx64 " - - - -\n", vaddr);
		return;
	}
	printf("%" PRIx64 " ", symbol.vaddr);
	if (symbol.has_function)
		printf("%" PRIx64, symbol.function_vaddr);
	else
		putchar('-');
	if (symbol.name)
		printf(" %s %.5000s %s\n", symbol_source_names[symbol.source], symbol.raw_name,
		       symbol.name);
	else
		puts(" - - -");
}

static int add_entries(struct symbols *symbols, struct elf_file *file)
{
	uint64_t *vaddrs;
	size_t nr;
	int error = code_entries(file, &vaddrs, &nr);

	if (!error) {
		error = symbols_add_entries(symbols, vaddrs, nr);
		free(vaddrs);
	}
	return error;
}

/* What may be the file's debug files, as a worker's opener finds them; fetched: NULL: none was */
static void open_debug_files(struct opened_elf *opened, const struct symbol_options *options,
			     struct elf_file *file, const char *fetched)
{
	struct debug_key key;

	debug_key_read(&key, file);
	debug_files_find(&opened->local, &options->search, &key, file->fd, options->path);
	opened->fetched.fds[0] = fetched ? open(fetched, O_RDONLY) : -1;
	opened->fetched.nr = opened->fetched.fds[0] >= 0;
}

int main(int argc, char **argv)
{
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	struct debuginfod *debuginfod = NULL;
	char path[PATH_MAX], *fetched = NULL;
	struct opened_elf opened;
	const char *directories[8];
	struct symbols *symbols;
	struct elf_file file;
	struct rusage usage;
	uint64_t vaddr;
	bool entries = false;
	int option, fd, error;

	options.search.directories = directories;
	while ((option = getopt(argc, argv, "nd:r:fe")) != -1) {
		if (option == 'n')
			options.no_demangle = true;
		else if (option == 'd' && options.search.nr_directories < 8)
			directories[options.search.nr_directories++] = optarg;
		else if (option == 'r')
			options.search.root = open(optarg, O_PATH | O_DIRECTORY);
		else if (option == 'e')
			entries = true;
		else if (option != 'f' || debuginfod_new(&debuginfod))
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	options.path = argv[optind];
	fd = open(options.path, O_RDONLY);
	error = fd < 0 ? -1 : elf_file_open(&file, fd);
	if (!error && debuginfod &&
	    !debuginfod_fetch(debuginfod, file.build_id, file.build_id_bytes, true, -1, path))
		fetched = path;
	debuginfod_free(debuginfod);
	if (!error) {
		open_debug_files(&opened, &options, &file, fetched);
		options.opened = &opened;
	}
	if (!error)
		error = symbols_read(&symbols, &file, &options);
	if (!error && entries)
		error = add_entries(symbols, &file);
	if (error) {
		fprintf(stderr, "symbol-of: '%s': %s\n", options.path, elf_file_explain(error));
		return 1;
	}
	while (scanf("%" SCNx64, &vaddr) == 1)
		print(symbols, &file, vaddr);
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%zu bytes of symbols, %ld kB resident at most\n", symbols_bytes(symbols),
		usage.ru_maxrss);
	symbols_free(symbols);
	elf_file_close(&file);
	return 0;
}
