// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int process_memory_open(pid_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return -ESRCH;
	return errno == EACCES ? -EPERM : -errno;
}

bool process_memory_is_used(const struct process_memory *memory)
{
	char byte;

	return pread(memory->fd, &byte, 1, 0); /* 0 bytes, or EIO where nothing is mapped */
}

static ssize_t read_open(int fd, uint64_t address, void *to, size_t bytes)
{
	ssize_t got = pread(fd, to, bytes, address);

	if (!got && bytes)
		return -ESRCH;
	if (got >= 0)
		return got;
	return errno == EIO ? -EFAULT : -errno;
}

ssize_t process_memory_read(const struct process_memory *memory, uint64_t address, void *to,
			    size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };
	ssize_t got;

	if (memory->fd >= 0)
		return read_open(memory->fd, address, to, bytes);
	got = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
	return got < 0 ? -errno : got;
}

/* with one call to the system */
static size_t read_words_of_pid(pid_t pid, const uint64_t *at, uint32_t *words, size_t nr)
{
	struct iovec local = { words, nr * sizeof(*words) }, remote[MAX_MEMORY_WORDS];
	ssize_t got;

	for (size_t i = 0; i < nr; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)at[i], sizeof(*words) };
	got = process_vm_readv(pid, &local, 1, remote, nr, 0);
	return got < 0 ? 0 : got / sizeof(*words);
}

size_t process_memory_read_words(const struct process_memory *memory, const uint64_t *at,
				 uint32_t *words, size_t nr)
{
	size_t done = 0;

	if (nr > MAX_MEMORY_WORDS)
		nr = MAX_MEMORY_WORDS;
	if (memory->fd < 0)
		return read_words_of_pid(memory->pid, at, words, nr);
	while (done < nr &&
	       read_open(memory->fd, at[done], &words[done], sizeof(*words)) == sizeof(*words))
		done++;
	return done;
}
