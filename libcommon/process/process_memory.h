/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another process's memory, which is read by whoever may attach to it, or has been given it open.
 */
#ifndef EHPERF_PROCESS_PROCESS_MEMORY_H
#define EHPERF_PROCESS_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_memory {
	pid_t pid;
	int fd; /* process_memory_open()'s; -1: the pid's is read */
};

/*
 * Opens it to be read; what is mapped there later counts, too, but not what the process executes
 * later. An fd or -errno
 */
int process_memory_open(pid_t pid);

/* False: of the opened memory, the process has executed something else or is gone. */
bool process_memory_is_used(const struct process_memory *memory);

/*
 * Reads from `address` on. Returns the number of bytes, fewer if the rest is not mapped, or -errno;
 * -ESRCH: the process is gone
 */
ssize_t process_memory_read(const struct process_memory *memory, uint64_t address, void *to,
			    size_t bytes);

/*
 * Reads the words at these addresses, MAX_MEMORY_WORDS at most, as they are now. How many, before
 * the first that is not there
 */
#define MAX_MEMORY_WORDS 256
size_t process_memory_read_words(const struct process_memory *memory, const uint64_t *at,
				 uint32_t *words, size_t nr);

#endif
