/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's perf map and jitdump: finds the files, and reads JIT names from both. */
#ifndef EHPERF_RUNTIMES_JIT_FILES_H
#define EHPERF_RUNTIMES_JIT_FILES_H

#include <sys/types.h>

#include "process/proc_maps.h"
#include "runtimes/jit/jit_names.h"
#include "runtimes/jit/jitdump.h"
#include "runtimes/jit/perf_map.h"

struct jit_files {
	struct jit_names names;
	/*
	 * private; the fds stay open, because the process and its root directory may be gone when names are
	 * needed
	 */
	int proc;			/* /proc/PID, even if the PID is reused; -1: the process was gone */
	pid_t pid, ns_pid;		/* the second: its PID in its innermost namespace, which is in the files' names */
	/* real and effective: files of these users, and root's, are trusted */
	uid_t uids[2];
	int map_fd, dump_fd;		/* -1: not found */
	bool no_dump;			/* what was found is none */
	struct perf_map map;
	struct jitdump dump;
};

/*
 * Looks for both files of a live process: /tmp/perf-PID.map below its own root, with the PID of its innermost
 * namespace, and a jit-PID.dump that it has mapped executable. They must be regular files, not links, and
 * belong to the process's user or to root. 0, even if there are none; -ESRCH or -errno: then nothing needs to
 * be closed
 */
int jit_files_open(struct jit_files *files, pid_t pid, const struct proc_maps *maps);
/*
 * jit_files_open() for a process that has exited: finds /tmp/perf-PID.map below our own root, if it belongs to root or to our
 * user. 0 or -ESRCH
 */
int jit_files_open_dead(struct jit_files *files, pid_t pid);
void jit_files_close(struct jit_files *files);

/*
 * Reads what was added since the last call. A file that is new is found as long as the process lives. 0 or
 * -ENOMEM
 */
int jit_files_update(struct jit_files *files);

/* Does at least one of the files exist? */
bool jit_files_any(const struct jit_files *files);

#endif
