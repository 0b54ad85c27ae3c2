/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_PROCESS_PROCESS_MEMORY_H
#define EHPERF_PROCESS_PROCESS_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* How many bytes from `address` on were read of another process's memory, or -errno; fewer: the rest is not there */
static inline ssize_t process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return got < 0 ? -errno : got;
}

#endif
