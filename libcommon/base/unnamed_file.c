// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static int open_in(const char *directory)
{
	int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* not every file system has files without a name */
	if (snprintf(path, sizeof(path), "%s/ehperf.XXXXXX", directory) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

FILE *unnamed_file(void)
{
	const char *directory = getenv("TMPDIR");
	int fd = open_in(directory && *directory ? directory : "/tmp");
	FILE *file = fd >= 0 ? fdopen(fd, "r+") : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}
