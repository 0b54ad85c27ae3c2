/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a process's perf map and jitdump are, and its JIT names from both. */
#ifndef EHPERF_PROCESS_JIT_FILES_H
#define EHPERF_PROCESS_JIT_FILES_H

#include <sys/types.h>

#include "process/jit_names.h"
#include "process/jitdump.h"
#include "process/perf_map.h"
#include "process/proc_maps.h"

struct jit_files {
	struct jit_names names;
	/* private; the fds are kept, because the process and its root directory may be gone when names are wanted */
	int proc;			/* /proc/PID: never another process's; -1: it was gone */
	pid_t ns_pid;			/* as it knows itself, and so its files */
	uid_t uids[2];			/* real and effective: whose files are believed, besides root's */
	int map_fd, dump_fd;		/* -1: not found */
	struct perf_map map;
	struct jitdump dump;
};

/*
 * Looks for both files of a live process: /tmp/perf-PID.map below its own root, PID being that of its innermost
 * namespace, and a jit-PID.dump that it has mapped for execution. They must be regular files, no links, and belong
 * to the process's user or to root. 0, also where there are none; -ESRCH or -errno: then nothing needs closing
 */
int jit_files_open(struct jit_files *files, pid_t pid, const struct proc_maps *maps);
/*
 * The same for one that is gone: /tmp/perf-PID.map below our own root, if it is root's or our own user's. 0 or -ESRCH
 */
int jit_files_open_dead(struct jit_files *files, pid_t pid);
void jit_files_close(struct jit_files *files);

/* Reads what was added since; a map that did not exist before is found as long as the process lives. 0 or -ENOMEM */
int jit_files_update(struct jit_files *files);

/* is there any of them? */
bool jit_files_any(const struct jit_files *files);

#endif
