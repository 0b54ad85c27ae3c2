// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/kept_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child_limits.h"

#define PIPE_BYTES (1 << 20)
#define AWAIT_MS   100

/*
 * While the pipe's bytes are spliced, its lock is held: once FIONREAD says that it is empty, the
 * file has them all.
 */
static _Noreturn void copy(int from, int to)
{
	off_t end = 0, freed = 0, start;
	char lost[4096];
	ssize_t nr;

	prctl(PR_SET_NAME, "ehperf-output");
	child_set_signals();
	if (!child_keep_files(from, &to, 1))
		_exit(1);
	child_drop_rights();
	while ((nr = splice(0, NULL, 1, &end, PIPE_BYTES, 0))) {
		if (nr < 0 && read(0, lost, sizeof(lost)) <= 0) /* no memory is left */
			break;
		start = (end / KEPT_BYTES - 1) * KEPT_BYTES; /* a page goes as a whole only */
		if (start <= freed)
			continue;
		fallocate(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, freed, start - freed);
		freed = start;
	}
	_exit(0);
}

int kept_output_begin(struct kept_output *kept)
{
	int ends[2], error = 0;
	pid_t child;

	kept->file = memfd_create("ehperf output", MFD_CLOEXEC);
	if (kept->file < 0 || pipe2(ends, O_CLOEXEC))
		return -errno;
	kept->pipe = ends[1];
	/* so that the writer seldom waits for the child */
	fcntl(kept->pipe, F_SETPIPE_SZ, PIPE_BYTES);
	child = fork();
	if (!child)
		copy(ends[0], kept->file);
	if (child < 0)
		error = -errno;
	close(ends[0]);
	return error;
}

void kept_output_await(const struct kept_output *kept)
{
	int left;

	for (int i = 0; i < AWAIT_MS && !ioctl(kept->pipe, FIONREAD, &left) && left; i++)
		usleep(1000);
}
