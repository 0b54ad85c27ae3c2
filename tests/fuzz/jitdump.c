// SPDX-License-Identifier: GPL-2.0-or-later
/* A jitdump behind a good header, read in two pieces. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "runtimes/jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint8_t header[40] = { 0x44, 0x54, 0x69, 0x4a, 1, 0, 0, 0, 40 };
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jit_names names = {};
	struct jitdump dump = {};
	uint64_t start;

	must(fd >= 0 && write(fd, header, sizeof(header)) == sizeof(header), "a file");
	must(write(fd, bytes, size / 2) == (ssize_t)(size / 2), "a file");
	must(!jitdump_read(&dump, fd, &names), "it is read");
	must(write(fd, bytes + size / 2, size - size / 2) == (ssize_t)(size - size / 2), "a file");
	must(!jitdump_read(&dump, fd, &names) && dump.at <= sizeof(header) + size, "it is read on");
	for (uint64_t addr = 0; addr < 0x4000; addr += 0x35)
		if (jit_names_find(&names, addr, addr % 2 ? addr : UINT64_MAX, &start))
			must(start <= addr, "found in it");
	close(fd);
	jit_names_free(&names);
	/* as a whole file too: its own header */
	fd = memfd_create("dump", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file");
	dump = (struct jitdump){};
	jitdump_read(&dump, fd, &names);
	close(fd);
	jit_names_free(&names);
	return 0;
}
