/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JIT names of all processes that were seen to run code of no file. */
#ifndef EHPERF_PROCESS_JIT_PROCESSES_H
#define EHPERF_PROCESS_JIT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/jit_files.h"

#define JIT_MAX_PROCESSES 256			/* their files are kept open; later ones have no names */
#define JIT_MAX_BYTES ((size_t)256 << 20)	/* of names of all of them */

struct jit_processes;

struct jit_processes *jit_processes_new(void);
void jit_processes_free(struct jit_processes *processes);

/*
 * This process runs code of no file: best called when that is first seen, while it lives, because but for a perf map
 * in our own /tmp nothing is to be found when it is gone; and cheap when called again. maps: its own; NULL: they are
 * read. 0, -ENOSPC, -ESRCH (gone already), -ENOMEM or -errno
 */
int jit_processes_see(struct jit_processes *processes, pid_t pid, const struct proc_maps *maps);

/* reads what the runtimes wrote since: before names are asked for. 0 or -ENOMEM */
int jit_processes_update(struct jit_processes *processes);

enum jit_found {
	JIT_FOUND,
	JIT_NOT_IN_FILES,	/* its files do not name that address */
	JIT_NO_FILES,		/* its runtime writes none */
	JIT_NOT_SEEN,		/* it was gone, or one too many */
};

/* The name of what was at addr at that time (UINT64_MAX: last), and where it starts; valid until the next call */
enum jit_found jit_processes_find(struct jit_processes *processes, pid_t pid, uint64_t addr, uint64_t time_ns,
				  const char **name, uint64_t *start);

#endif
