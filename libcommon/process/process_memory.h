/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_PROCESS_PROCESS_MEMORY_H
#define EHPERF_PROCESS_PROCESS_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Reads another process's memory from `address` on. Returns the number of bytes, fewer if the rest is not mapped, or -errno */
static inline ssize_t process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return got < 0 ? -errno : got;
}

#endif
