/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in the source an address of a file is, and in which inlined functions, by its DWARF (5,
 * sections 3.3.8 and 6.2), read by libdw. libdw trusts what it reads, so this runs in a bounded
 * child, which may only read what every user may read. The files that the DWARF names (.dwo, dwz's)
 * must be regular files that are trusted: regular_file_is_believed().
 */
#ifndef EHPERF_DWARF_DWARF_PLACES_H
#define EHPERF_DWARF_DWARF_PLACES_H

#include <stddef.h>
#include <stdint.h>

struct dwarf_places;

#define DWARF_MAX_INLINED 64

struct dwarf_place {
	/*
	 * the inlined function, as in the file; NULL: the function that symbols name, which all
	 * others are inlined in
	 */
	const char *function;
	const char *file; /* NULL: not known */
	unsigned line;    /* 0: not known */
};

/*
 * fd: of a file with .debug_info, which is read as long as there are places. 0, -ENOENT (no DWARF),
 * -EFBIG (a compressed section holds more than real ones do), -EBADMSG or -ENOMEM
 */
int dwarf_places_new(struct dwarf_places **places, int fd);
void dwarf_places_free(struct dwarf_places *places);

/*
 * Finds the places of an address, the innermost first; for a return address, pass an address in the
 * call. Returns their number; 0: nothing is known. libdw owns the strings.
 */
size_t dwarf_places_find(struct dwarf_places *places, uint64_t vaddr,
			 struct dwarf_place found[DWARF_MAX_INLINED]);

#endif
