// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/process_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/opening.h"

/* /proc/PID/mem, by the opener; -errno: it cannot be opened */
static int memory = -ENOENT;
static pid_t memory_of;		/* 0: nobody's */

void process_memory_close(void)
{
	if (memory >= 0)
		close(memory);
	memory = -ENOENT;
	memory_of = 0;
}

static ssize_t read_opened(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	ssize_t got;

	if (pid != memory_of) {
		process_memory_close();
		memory = proc_open(-1, pid, PROC_MEM);
		memory_of = pid;
	}
	if (memory < 0)
		return memory == -ENOENT ? -ESRCH : memory;
	got = pread(memory, to, bytes, address);
	if (!got && bytes)	/* it has ended */
		return -ESRCH;
	return got < 0 ? -EFAULT : got;
}

ssize_t process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };
	ssize_t got;

	if (opening_is_asked())
		return read_opened(pid, address, to, bytes);
	got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	return got < 0 ? -errno : got;
}

size_t process_memory_read_words(pid_t pid, const uint64_t *at, uint32_t *words, size_t nr)
{
	struct iovec local = { words, nr * sizeof(*words) }, remote[MAX_MEMORY_WORDS];
	size_t done = 0;
	ssize_t got;

	if (opening_is_asked()) {
		while (done < nr && read_opened(pid, at[done], &words[done], sizeof(*words)) == sizeof(*words))
			done++;
		return done;
	}
	for (size_t i = 0; i < nr; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)at[i], sizeof(*words) };
	got = process_vm_readv(pid, &local, 1, remote, nr, 0);
	return got < 0 ? 0 : got / sizeof(*words);
}
