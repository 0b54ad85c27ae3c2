/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_PROCESS_PROCESS_MEMORY_H
#define EHPERF_PROCESS_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads another process's memory from `address` on. Returns the number of bytes, fewer if the rest is not mapped, or -errno */
ssize_t process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes);

/* Reads these words in their order, MAX_MEMORY_WORDS at most: how many, before the first that is not there */
#define MAX_MEMORY_WORDS 256
size_t process_memory_read_words(pid_t pid, const uint64_t *at, uint32_t *words, size_t nr);

/* A worker keeps the memory of the last process open: this closes it, because the process may execute another program. */
void process_memory_close(void);

#endif
