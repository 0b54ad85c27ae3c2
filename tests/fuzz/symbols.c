// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two files: what is named, and what lies where its .gnu_debuglink may look for it. The first two
 * bytes divide the input. Every look-up gives a start that is not behind the byte, and is the same
 * again.
 */
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "dwarf/symbols.h"

static char directory[32], debug_path[64], file_path[64];

static void clean_up(void)
{
	unlink(debug_path);
	rmdir(directory);
}

static void make_directory(void)
{
	strcpy(directory, "/tmp/ehperf-fuzz-XXXXXX");
	must(mkdtemp(directory), "a directory");
	snprintf(debug_path, sizeof(debug_path), "%s/debug", directory);
	snprintf(file_path, sizeof(file_path), "%s/file", directory);
	atexit(clean_up);
}

static void write_debug_file(const uint8_t *bytes, size_t size)
{
	int fd;

	if (!*directory)
		make_directory();
	fd = open(debug_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a debug file");
	close(fd);
}

static void look_up(struct symbols *symbols, size_t size)
{
	for (uint64_t offset = 0; offset < size; offset += 61) {
		struct symbol first, again;

		if (!symbols_find(symbols, offset, &first))
			continue;
		must(first.function_vaddr <= first.vaddr &&
			     first.offset == first.vaddr - first.function_vaddr,
		     "a start");
		must(!first.name || *first.name, "a name is not empty");
		must(symbols_find(symbols, offset, &again) &&
			     again.function_vaddr == first.function_vaddr,
		     "the same again");
	}
	must(symbols_bytes(symbols) < 64 << 20, "within its memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	size_t first = size < 2 ? 0 : (bytes[0] | bytes[1] << 8) % (size - 1);
	struct symbols *symbols;
	struct elf_file file;
	uint8_t *copy;

	if (size < 2)
		return 0;
	options.path = file_path;
	options.max_bytes = 32 << 20;
	options.no_demangle = true;
	write_debug_file(bytes + 2 + first, size - 2 - first);
	copy = malloc(first); /* libelf may write to it */
	memcpy(copy, bytes + 2, first);
	if (!elf_file_open_memory(&file, copy, first)) {
		if (!symbols_read(&symbols, &file, &options)) {
			look_up(symbols, first);
			symbols_free(symbols);
		}
		elf_file_close(&file);
	}
	free(copy);
	return 0;
}
