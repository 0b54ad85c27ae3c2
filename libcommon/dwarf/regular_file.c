// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int regular_file_open(int root, const char *path, bool follow)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
		.resolve = root >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0,
	};
	int found = syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how)), fd;
	char name[32];
	struct stat st;

	if (found < 0)
		return -errno;
	if (fstat(found, &st) || !S_ISREG(st.st_mode)) {
		close(found);
		return -ENOENT;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	close(found);
	return fd;
}
