/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's perf map and jitdump. Who has the rights opens them, with what else tells of the
 * process; who parses them has no rights, and keeps them open, because the process and its root
 * directory may be gone when names are needed.
 */
#ifndef EHPERF_RUNTIMES_JIT_FILES_H
#define EHPERF_RUNTIMES_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/jit/jit_names.h"
#include "runtimes/jit/jitdump.h"
#include "runtimes/jit/perf_map.h"

enum jit_fd {
	JIT_MAP,
	JIT_DUMP,
	JIT_MAPS, /* /proc/PID/maps */
	JIT_STAT, /* /proc/PID/stat */
	NR_JIT_FDS
};

struct jit_opened {
	/* 0, also if there are none of these files; -ESRCH or -errno: then nothing is open */
	int error;
	int fds[NR_JIT_FDS]; /* -1: there is none */
};

/*
 * Opens the files of a live process: /tmp/perf-PID.map below its own root, with the PID of its
 * innermost namespace, and a jit-PID.dump that it has mapped executable, which is looked for with
 * `dump`. They must be regular files, not links, and belong to the process's user or to root. If
 * the process has exited: /tmp/perf-PID.map below our own
 * root, if it belongs to root or to our user.
 */
void jit_files_open(struct jit_opened *opened, pid_t pid, bool dump);
void jit_opened_close(struct jit_opened *opened);

struct jit_files {
	struct jit_names names;
	/* private */
	int map_fd, dump_fd; /* -1: not found */
	bool no_dump;        /* what was found is none */
	struct perf_map map;
	struct jitdump dump;
};
#define JIT_FILES_NONE ((struct jit_files){ .map_fd = -1, .dump_fd = -1 })

/*
 * Reads what was added since the last call, from then on from these files, which it takes over: -1:
 * none is new. 0 or -ENOMEM
 */
int jit_files_update(struct jit_files *files, int *map_fd, int *dump_fd);
/* Forgets all names; the next update reads the files anew. */
void jit_files_forget(struct jit_files *files);
void jit_files_close(struct jit_files *files);

/* Does at least one of the files exist? */
bool jit_files_any(const struct jit_files *files);
/* May there be a dump that was not given yet? */
bool jit_files_want_dump(const struct jit_files *files);

#endif
