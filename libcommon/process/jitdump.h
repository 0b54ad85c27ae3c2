/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump (Linux, tools/perf/Documentation/jitdump-specification.txt, version 1): records of code that a
 * runtime loaded and moved, with times.
 */
#ifndef EHPERF_PROCESS_JITDUMP_H
#define EHPERF_PROCESS_JITDUMP_H

#include "process/jit_names.h"

#define JITDUMP_MAX_BYTES (16ULL << 30)		/* what is looked at of one; most is code, which is not read */
#define JITDUMP_MAX_RECORDS (4u << 20)

struct jitdump {
	uint64_t dev, inode, at;	/* the file, and what of it is read already */
	uint32_t nr_records;
	bool closed;			/* the runtime said that it is done, or what follows is no record */
};

/*
 * Reads the records that were added to the file since, as perf_map_read() does; one that is not whole yet is
 * left for later. 0, -EBADMSG (it is no jitdump of this byte order), -ENOTSUP (of another version, or its times
 * are a CPU's own) or -errno
 */
int jitdump_read(struct jitdump *dump, int fd, struct jit_names *names);

#endif
