/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes: a nop where an event happens, and a note (.note.stapsdt) that says where.
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 */
#ifndef EHPERF_DWARF_USDT_H
#define EHPERF_DWARF_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

struct usdt_probe {
	/* in the file's bytes, valid until elf_file_close() */
	const char *provider, *name, *arguments;
	uint64_t file_offset; /* of the nop */
	/* in the file, of a counter that must not be 0 for the probe to be reached; 0: none */
	uint64_t semaphore_offset;
};

/*
 * All probes of the file, in the order of their notes, some at several places: a malloc()ed array.
 * A note that does not parse is left out. 0, -EFBIG (elf_file_table()) or -ENOMEM
 */
int usdt_read(struct elf_file *file, struct usdt_probe **probes, size_t *nr);

#endif
