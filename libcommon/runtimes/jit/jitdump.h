/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump (Linux, tools/perf/Documentation/jitdump-specification.txt, version 1): time-stamped
 * records of code that a runtime has loaded or moved.
 */
#ifndef EHPERF_RUNTIMES_JITDUMP_H
#define EHPERF_RUNTIMES_JITDUMP_H

#include "runtimes/jit/jit_names.h"

/* examined of a file; most of it is code, which is not read */
#define JITDUMP_MAX_BYTES   (16ULL << 30)
#define JITDUMP_MAX_RECORDS (4u << 20)

struct jitdump {
	uint64_t dev, inode, at; /* the file, and the offset up to which it was read */
	uint32_t nr_records;
	/* the runtime has written its last record, or the rest is not valid */
	bool closed;
};

/*
 * Reads the records that were added to the file since the last call, like perf_map_read(); an
 * incomplete record is left for the next call. 0, -EBADMSG (not a jitdump of this byte order),
 * -ENOTSUP (another version, or time stamps are those of the CPU's counter) or -errno
 */
int jitdump_read(struct jitdump *dump, int fd, struct jit_names *names);

#endif
