/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /tmp/perf-PID.map (Linux, tools/perf/Documentation/jit-interface.txt): a line "START SIZE NAME"
 * for each function that a runtime compiles, with hexadecimal START and SIZE, appended while it
 * runs. A later line for an address overrides earlier ones.
 */
#ifndef EHPERF_RUNTIMES_PERF_MAP_H
#define EHPERF_RUNTIMES_PERF_MAP_H

#include "runtimes/jit/jit_names.h"

#define PERF_MAP_MAX_BYTES (256ULL << 20) /* read at once: of a longer file, the end */

#define PERF_MAP_TAIL 64

struct perf_map {
	uint64_t dev, inode, at; /* the file, and the offset up to which it was read */
	uint64_t skipped;        /* how often all names were forgotten, and a part not read */
	/* the last bytes before that: others there now mean that the file was written anew */
	char tail[PERF_MAP_TAIL];
};

/*
 * Reads what was added to the file since the last call; all of it, if it is another file, or was
 * written anew. A line that does not parse is counted in names->bad; one without a newline is
 * left for the next call. 0 or -errno
 */
int perf_map_read(struct perf_map *map, int fd, struct jit_names *names);

#endif
