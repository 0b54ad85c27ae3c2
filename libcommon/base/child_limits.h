/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that a child process gives itself before it touches what others have made: whatever takes
 * over the child has won nothing, and whatever it makes of the child costs no more than this. A
 * limit that cannot be had ends the child.
 */
#ifndef EHPERF_BASE_CHILD_LIMITS_H
#define EHPERF_BASE_CHILD_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/*
 * What a process has of its own, without files, as limits count it; of the caller's if pid is 0. 0:
 * it is gone
 */
uint64_t child_memory(pid_t pid);

/* So much more memory than it has now, no more than it might have before, and no core dump. */
void child_limit_memory(size_t bytes);

enum child_kind {
	CHILD_READER,
	CHILD_PARSER,
	/* a parser with an ID of its own: it has children to end and limit, or it talks to others */
	CHILD_ALONE,
};

/*
 * An ID that only the tool's children of this kind have, or this child alone, which owns no file,
 * and no capabilities; a reader has those to read all files and all processes' memory. Without the
 * right to change IDs, capabilities alone are given up. All but readers may write and make no file,
 * and run none, where the kernel has Landlock, from 5.13 on: a process that Landlock limits may
 * read no other's memory.
 */
void child_limit_rights(enum child_kind kind);
/* No capabilities, also for the programs that it starts. */
void child_drop_rights(void);
/*
 * For a child that keeps its user, whose files it writes: it starts no program, touches no other
 * process, and has no capabilities. Where the kernel has Landlock, it writes and makes files in
 * this directory alone; NULL: nowhere. Trying what no library tries ends it.
 */
void child_limit_to_writing(const char *directory);

/*
 * The file becomes descriptor 0, and its only one: the tool's events and links must not outlive the
 * tool in a child. False: it cannot
 */
bool child_keep_only(int fd);
/* The same, with further files from descriptor 1 on */
bool child_keep_files(int fd, const int *files, size_t nr);
/*
 * Signals of the terminal are the tool's; one that says that something went wrong ends the child.
 */
void child_set_signals(void);

/* It ends with its parent. To be called last: what changes rights takes it back. */
void child_end_with(pid_t parent);

/* system calls that opening and reading files takes */
#define CHILD_READS                                                                             \
	__NR_openat, __NR_openat2, __NR_close, __NR_read, __NR_pread64, __NR_readv, __NR_lseek, \
		__NR_fstat, __NR_fstatfs, __NR_newfstatat, __NR_statx, __NR_getdents64,         \
		__NR_readlinkat, __NR_fcntl

/* and a child that will limit its system calls further */
#define CHILD_LIMITS_ITSELF __NR_prctl, __NR_seccomp

/*
 * No system calls but these, two lists that end with -1, the second of which may be NULL
 * (SCMP_SYS() is for calls that not every machine has); memory that is neither code nor a file's to
 * be written, and files to read: others fail with EPERM, and those that only an attacker would try
 * end the child.
 * (A filter cannot see what openat2() asks for: where nothing else forbids it, it could create an
 * empty file, or truncate a file that everybody may write.)
 * Those of another architecture, whose numbers mean other calls, end the child. A kernel without
 * seccomp leaves the other limits.
 */
void child_limit_system_calls(const int *allowed, const int *more);

#endif
