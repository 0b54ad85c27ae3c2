// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/opener.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/message.h"
#include "base/opening.h"
#include "dwarf/regular_file.h"
#include "process/mapped_file.h"
#include "process/priority.h"

#define MAX_BYTES (4 << 20)	/* of memory; a request takes a page or two, and a list of all processes some */

/* Files are found and opened, and what was asked for is passed. */
static void limit_system_calls(void)
{
	static const int calls[] = {
		CHILD_READS, CHILD_OPENS, __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise, __NR_futex, __NR_getrandom, __NR_getpid,
		__NR_restart_syscall, __NR_rt_sigreturn, __NR_exit_group, -1
	};

	child_limit_system_calls(calls, NULL);
}

/* What the worker sends may be anything. bytes: of its path */
static bool is_sound(const struct opening *o, ssize_t bytes)
{
	return bytes > 0 && !o->path[bytes - 1] && (unsigned)o->file < NR_PROC_FILES && o->pid >= 0;
}

/* As the function that is asked for returns: a descriptor, which is not 0; 0: there is none to be passed; or -errno */
static int open_for(const struct opening *o, int directory, struct opened *opened)
{
	const struct mapped_file file = {
		.tid = o->pid, .start = o->start, .end = o->end, .path = o->path, .ours = o->ours,
	};
	const struct proc_mapping mapping = {
		.start = o->start, .end = o->end, .dev = o->dev, .inode = o->inode, .path = (char *)o->path,
	};

	switch (o->kind) {
	case OPEN_PROC:
		return proc_open(directory, o->pid, o->file);
	case OPEN_REGULAR:
		return regular_file_open(directory, o->path, o->follow);
	case OPEN_PERF_MAP:
		return regular_file_open_perf_map(directory, o->pid);
	case OPEN_MAPPED:
		return mapped_file_open(&file, &o->key, &opened->ours);
	case OPEN_MAPPED_NOW:
		return mapped_file_open_now(o->pid, &mapping);
	case OPEN_MAPPED_ROOT:
		return mapped_file_root(&file, &o->key);
	case IDENTIFY_MAPPED:
		return mapped_file_identify(o->pid, &mapping, &opened->key);
	case COMPARE_ROOT:
		return process_has_our_root(o->pid) ? 0 : -EXDEV;
	default:
		return -EINVAL;
	}
}

/* How many answers there are */
static size_t identify_ranges(const struct opening *o, ssize_t bytes, struct opened *opened)
{
	size_t nr = bytes > 0 ? bytes / sizeof(o->ranges[0]) : 0;

	opened->ours = process_has_our_root(o->pid);
	for (size_t i = 0; i < nr && i < OPENING_MAX_RANGES; i++) {
		int found = regular_file_find_mapped(o->pid, o->ranges[i].start, o->ranges[i].end, &opened[i].key);

		opened[i].result = found < 0 ? found : 0;
		if (found >= 0)
			close(found);
	}
	return nr < OPENING_MAX_RANGES ? nr : OPENING_MAX_RANGES;
}

/* False: the worker has gone. */
static bool serve(void)
{
	static struct opening opening;
	struct opened opened[OPENING_MAX_RANGES] = {};
	int directory = -1, fd = -EINVAL;
	size_t nr_fds = 1, nr = 1;
	ssize_t bytes = message_receive(STDIN_FILENO, &opening, sizeof(opening), &directory, &nr_fds), rest;
	bool sent;

	if (bytes <= 0)
		return false;
	rest = bytes - offsetof(struct opening, path);
	if (opening.kind == IDENTIFY_RANGES)
		nr = identify_ranges(&opening, rest, opened);
	else if (is_sound(&opening, rest))
		fd = open_for(&opening, directory, opened);
	if (opening.kind != IDENTIFY_RANGES && fd < 0)
		opened->result = fd;
	sent = message_send(STDIN_FILENO, opened, nr * sizeof(*opened), &fd, fd > 0, 0);
	if (fd > 0)
		close(fd);
	if (nr_fds)
		close(directory);
	return sent;
}

_Noreturn void opener_run(int socket)
{
	pid_t parent = getppid();

	prctl(PR_SET_NAME, "ehperf-opener");
	priority_leave();	/* who started it says when it goes first */
	child_set_signals();
	if (!child_keep_only(&socket, 1))
		_exit(1);
	child_limit_memory(child_memory(0), MAX_BYTES);
	if (child_limit_rights())	/* else the kernel decides what it may */
		regular_file_confine();
	child_end_with(parent);
	limit_system_calls();
	while (serve())
		;
	_exit(0);
}
