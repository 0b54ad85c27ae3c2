/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker may have opened. A worker that parses what others have made can open nothing: an opener, a process of its own that
 * has the rights and parses nothing (process/opener.h), passes it descriptors. Each function that opens what belongs to others
 * does it itself, or in a worker asks the opener to call the same function.
 */
#ifndef EHPERF_BASE_OPENING_H
#define EHPERF_BASE_OPENING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file_key.h"

enum opening_kind {
	OPEN_PROC,		/* proc_open() */
	OPEN_REGULAR,		/* regular_file_open() */
	OPEN_PERF_MAP,		/* regular_file_open_perf_map() */
	OPEN_MAPPED,		/* mapped_file_open() */
	OPEN_MAPPED_NOW,	/* mapped_file_open_now() */
	OPEN_MAPPED_ROOT,	/* mapped_file_root() */
	IDENTIFY_MAPPED,	/* mapped_file_identify() */
	IDENTIFY_RANGES,	/* regular_file_find_mapped() of each, closed at once; the first answer's .ours is COMPARE_ROOT's */
	COMPARE_ROOT,		/* process_has_our_root() */
};

enum proc_file {
	PROC_DIRECTORY,		/* itself, O_PATH */
	PROC_ROOT,		/* O_PATH */
	PROC_TASKS,		/* task, the directory */
	PROC_MAPS, PROC_MEM, PROC_CMDLINE, PROC_STATUS, PROC_STATM,
	NR_PROC_FILES
};

#define OPENING_MAX_PATH 4300
#define OPENING_MAX_RANGES 64

/* the arguments of the function; those that it has not are 0. The used part of the last one is sent. */
struct opening {
	enum opening_kind kind;
	enum proc_file file;
	pid_t pid;
	bool follow, ours;
	uint64_t start, end, dev, inode;
	struct file_key key;
	union {
		char path[OPENING_MAX_PATH];
		struct {
			uint64_t start, end;
		} ranges[OPENING_MAX_RANGES];
	};
};

/* what the function returns; a descriptor comes with it */
struct opened {
	int result;		/* 0 or -errno */
	bool ours;
	struct file_key key;
};

/* From now on, this process asks the opener at the other end of this socket. */
void opening_by(int socket);
/* Is there one to be asked? */
bool opening_is_asked(void);
/*
 * Asks the opener; directory: a descriptor that came from it, or -1. The descriptor that it passes, 0 if it is to pass none, or
 * -errno; *opened is set then, too
 */
int opening_ask(const struct opening *opening, int directory, struct opened *opened);
/* as opening_ask(), of so many ranges. False: there is no answer */
bool opening_ask_ranges(const struct opening *opening, size_t nr, struct opened *opened);
/* Copies the path. 0 or -ENAMETOOLONG */
int opening_set_path(struct opening *opening, const char *path);

/* A file of the process: /proc/PID/maps and the like; directory: /proc/PID itself, opened before; -1: by PID. An fd or -errno */
int proc_open(int directory, pid_t pid, enum proc_file file);

#endif
