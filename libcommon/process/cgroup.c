// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* For kernfs, name_to_handle_at()'s handle is the 64-bit ID. */
static int id_of(const char *directory, uint64_t *id)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} h = { .handle.handle_bytes = sizeof(h.id) };
	struct statfs fs;
	struct stat st;
	int mount_id;

	if (statfs(directory, &fs) || stat(directory, &st))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (name_to_handle_at(AT_FDCWD, directory, &h.handle, &mount_id, 0))
		return -errno;
	memcpy(id, h.handle.f_handle, sizeof(*id));
	return 0;
}

int cgroup_id(const char *path, uint64_t *id)
{
	int error = id_of(path, id);
	char directory[4096];
	struct mntent *entry;
	FILE *mounts;

	if (error != -ENOENT && error != -ENOTDIR)
		return error;
	mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return error;
	while ((entry = getmntent(mounts))) {
		if (strcmp(entry->mnt_type, "cgroup2"))
			continue;
		snprintf(directory, sizeof(directory), "%s/%s", entry->mnt_dir, path);
		if (!id_of(directory, id)) {
			error = 0;
			break;
		}
	}
	endmntent(mounts);
	return error;
}

int cgroup_path(pid_t pid, char *path, size_t size)
{
	int error = -ENOENT;
	char name[32];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (error && fgets(path, size, file)) {
		if (strncmp(path, "0::", 3))
			continue;
		path[strcspn(path, "\n")] = 0;
		memmove(path, path + 3, strlen(path + 3) + 1);
		error = 0;
	}
	fclose(file);
	return error;
}
