/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /tmp/perf-PID.map (Linux, tools/perf/Documentation/jit-interface.txt): a line "START SIZE NAME" for each function
 * that a runtime compiled, START and SIZE hexadecimal, added while it runs. What a later line says of an
 * address is right.
 */
#ifndef EHPERF_PROCESS_PERF_MAP_H
#define EHPERF_PROCESS_PERF_MAP_H

#include "process/jit_names.h"

#define PERF_MAP_MAX_BYTES (256ULL << 20)	/* what is read of one */

struct perf_map {
	uint64_t dev, inode, at;	/* the file, and what of it is read already */
};

/*
 * Reads what was added to the file since: all of another file than before, or of one that became shorter. A line
 * that does not parse is counted in names->bad, one without its end is left for later. 0 or -errno
 */
int perf_map_read(struct perf_map *map, int fd, struct jit_names *names);

#endif
