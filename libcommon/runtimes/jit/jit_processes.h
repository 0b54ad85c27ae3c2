/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JIT names of all processes in which anonymous memory was seen to be executed. */
#ifndef EHPERF_RUNTIMES_JIT_PROCESSES_H
#define EHPERF_RUNTIMES_JIT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/jit/jit_files.h"

#define JIT_MAX_PROCESSES 256 /* whose files are kept open: those that were updated last */

struct jit_processes;

/*
 * max_bytes: of memory, about: half of it for one process's names, and half for those of all others.
 * NULL: no memory
 */
struct jit_processes *jit_processes_new(size_t max_bytes);
void jit_processes_free(struct jit_processes *processes);

/*
 * Reads what the process's runtime has written since the last call: to be called before looking for
 * its names, first as soon as it was seen to execute anonymous memory: once it has exited, only a
 * perf map in our own /tmp can be found. *opened: jit_files_open() of now; what remains in it is
 * the caller's, and must stay open until the names are found. 0 or -ENOMEM
 */
int jit_processes_update(struct jit_processes *processes, pid_t pid, struct jit_opened *opened);
/* Were some of the process's names forgotten, because they need too much memory? */
bool jit_processes_forgot(const struct jit_processes *processes, pid_t pid);
/* Is jit_files_open() to look for a dump the next time? */
bool jit_processes_want_dump(const struct jit_processes *processes, pid_t pid);

enum jit_found {
	JIT_FOUND,
	JIT_NOT_IN_FILES, /* the process's files have no name for the address */
	JIT_NO_FILES,     /* the runtime writes no such files */
	JIT_NOT_SEEN,     /* the process had exited, or is not kept any more */
};

/*
 * What /proc/PID/maps calls the memory with this code, in brackets: "[anon:NAME]", "[memfd:NAME]",
 * "[/dev/zero]"; "[anon]" if it has no name. It is remembered when the process has exited. NULL: it
 * is not known, or there is no code. Valid until the next call
 */
const char *jit_processes_region(struct jit_processes *processes, pid_t pid, uint64_t addr);

/*
 * The name and start of the code at addr at that time (UINT64_MAX: the latest); valid until the
 * next call
 */
enum jit_found jit_processes_find(struct jit_processes *processes, pid_t pid, uint64_t addr,
				  uint64_t time_ns, const char **name, uint64_t *start);

#endif
