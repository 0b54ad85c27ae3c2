// SPDX-License-Identifier: GPL-2.0-or-later
/* A perf map, read in two pieces: the same as in one. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "runtimes/jit/perf_map.h"

static int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file");
	return fd;
}

static void read_names(struct jit_names *names, const uint8_t *bytes, size_t first, size_t size)
{
	struct perf_map map = {};
	int fd = file_of(bytes, first);

	must(!perf_map_read(&map, fd, names), "it is read");
	must(write(fd, bytes + first, size - first) == (ssize_t)(size - first), "a file");
	must(!perf_map_read(&map, fd, names), "it is read on");
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jit_names once = {}, twice = {};

	read_names(&once, bytes, 0, size);
	read_names(&twice, bytes, size / 2, size);
	must(once.nr == twice.nr, "in pieces as in one");
	for (uint64_t addr = 0; addr < 0x4000; addr += 0x35) {
		uint64_t a = 0, b = 0;
		const char *name = jit_names_find(&once, addr, UINT64_MAX, &a);
		const char *same = jit_names_find(&twice, addr, UINT64_MAX, &b);

		must(name ? same && !strcmp(name, same) && a == b && a <= addr : !same,
		     "found the same");
	}
	jit_names_free(&once);
	jit_names_free(&twice);
	return 0;
}
