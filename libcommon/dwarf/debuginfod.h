/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug files from the servers in $DEBUGINFOD_URLS, where the user asks for that: it takes a while. */
#ifndef EHPERF_DWARF_DEBUGINFOD_H
#define EHPERF_DWARF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod {
	unsigned seconds;	/* for all files together; what is not there by then is given up */
	/* called while a file comes in, of a total of 0 where that is not known; true: give it up. May be NULL */
	bool (*progress)(void *arg, long bytes, long total);
	void *arg;
	/* private */
	void *library;
	uint64_t spent_ns;
};

/*
 * An fd of the debug file with this build ID; elfutils keeps what it downloads in its cache. libdebuginfod
 * is loaded when first called for. -ENOENT, -ENOSYS (no libdebuginfod.so.1), -ETIME (the seconds are up),
 * -errno
 */
int debuginfod_open(struct debuginfod *debuginfod, const uint8_t *build_id, size_t bytes);
void debuginfod_close(struct debuginfod *debuginfod);

#endif
