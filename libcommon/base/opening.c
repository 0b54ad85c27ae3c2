// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/message.h"

static int opener = -1;

void opening_by(int socket)
{
	opener = socket;
}

bool opening_is_asked(void)
{
	return opener >= 0;
}

int opening_ask(const struct opening *opening, int directory, struct opened *opened)
{
	size_t bytes = offsetof(struct opening, path) + strlen(opening->path) + 1, nr = 1;
	int fd = 0;

	if (!message_send(opener, opening, bytes, &directory, directory >= 0, 0) ||
	    message_receive(opener, opened, sizeof(*opened), &fd, &nr) != sizeof(*opened))
		*opened = (struct opened){ .result = -EIO };
	return opened->result ? opened->result : nr ? fd : 0;
}

bool opening_ask_ranges(const struct opening *opening, size_t nr, struct opened *opened)
{
	size_t bytes = offsetof(struct opening, ranges) + nr * sizeof(opening->ranges[0]), none = 0;

	return message_send(opener, opening, bytes, NULL, 0, 0) &&
	       message_receive(opener, opened, nr * sizeof(*opened), NULL, &none) == (ssize_t)(nr * sizeof(*opened));
}

int opening_set_path(struct opening *opening, const char *path)
{
	size_t bytes = strlen(path) + 1;

	if (bytes > sizeof(opening->path))
		return -ENAMETOOLONG;
	memcpy(opening->path, path, bytes);
	return 0;
}

/* in the directory of a process */
static const struct {
	const char *name;
	int flags;
} proc_files[] = {
	[PROC_DIRECTORY] = { ".", O_PATH | O_DIRECTORY },
	[PROC_ROOT] = { "root", O_PATH | O_DIRECTORY },
	[PROC_TASKS] = { "task", O_RDONLY | O_DIRECTORY },
	[PROC_MAPS] = { "maps", O_RDONLY },
	[PROC_MEM] = { "mem", O_RDONLY },
	[PROC_CMDLINE] = { "cmdline", O_RDONLY },
	[PROC_STATUS] = { "status", O_RDONLY },
	[PROC_STATM] = { "statm", O_RDONLY },
};
_Static_assert(sizeof(proc_files) / sizeof(proc_files[0]) == NR_PROC_FILES, "enum proc_file");

/* What a worker passes may be another directory. */
static bool is_of_proc(int directory)
{
	struct statfs fs;

	return !fstatfs(directory, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

int proc_open(int directory, pid_t pid, enum proc_file file)
{
	const struct opening opening = { .kind = OPEN_PROC, .pid = pid, .file = file };
	struct opened opened;
	char name[48];
	int fd;

	if (opening_is_asked())
		return opening_ask(&opening, directory, &opened);
	if (directory >= 0 && !is_of_proc(directory))
		return -EPERM;
	snprintf(name, sizeof(name), "/proc/%d/%s", pid, proc_files[file].name);
	fd = openat(directory, directory >= 0 ? proc_files[file].name : name, proc_files[file].flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
