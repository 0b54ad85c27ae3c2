/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from the servers in $DEBUGINFOD_URLS. A child process fetches them into elfutils'
 * cache, and does not read them: it keeps its user, has no capabilities, and may use the network.
 * Readers must check what a server sends.
 */
#ifndef EHPERF_PROCESS_DEBUGINFOD_H
#define EHPERF_PROCESS_DEBUGINFOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* for all files of a run */
#define DEBUGINFOD_MAX_MS 60000
/* of which files that are not trusted (process/trust.h) may take so much */
#define DEBUGINFOD_OTHERS_MS 10000
#define DEBUGINFOD_MAX_BYTES (1ULL << 30) /* or $DEBUGINFOD_MAXSIZE, if that is less */
/*
 * Servers that send next to nothing for so many seconds, or $DEBUGINFOD_TIMEOUT, are not asked any
 * more.
 */
#define DEBUGINFOD_STALL_S 5

struct debuginfod;

/* 0 or -errno. Nothing is started before it is needed. */
int debuginfod_new(struct debuginfod **debuginfod);
void debuginfod_free(struct debuginfod *debuginfod);

/*
 * Gets the path of the debug file with this build ID, as sent by a server. Gives up when
 * interrupt_fd is readable; -1: never. 0, -ENOENT, -ENOSYS (no libdebuginfod.so.1), -ETIMEDOUT (the
 * servers do not answer), -ETIME or -EFBIG (the limits of a run are used up), -EINTR, -errno
 */
int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t bytes,
		     bool trusted, int interrupt_fd, char path[PATH_MAX]);

#endif
