// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc_maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int parse_line(const char *line, struct proc_mapping *mapping)
{
	unsigned major, minor;
	char perms[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
		   perms, &mapping->file_offset, &major, &minor, &mapping->inode, &path) < 7 || !path)
		return -EBADMSG;
	mapping->dev = makedev(major, minor);
	if (perms[2] != 'x')
		return 0;
	mapping->path = strndup(line + path, strcspn(line + path, "\n"));
	return mapping->path ? 1 : -ENOMEM;
}

static int read_file(struct proc_maps *maps, const char *name)
{
	FILE *file = fopen(name, "re");
	size_t size = 0, max = 0;
	char *line = NULL;
	int error = 0;

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (error >= 0 && getline(&line, &size, file) > 0) {
		if (maps->nr == max) {
			struct proc_mapping *more = reallocarray(maps->mappings, max ? max * 2 : 64, sizeof(*more));

			if (!more) {
				error = -ENOMEM;
				break;
			}
			maps->mappings = more;
			max = max ? max * 2 : 64;
		}
		error = parse_line(line, &maps->mappings[maps->nr]);
		if (error == 1)
			maps->nr++;
	}
	if (error >= 0 && ferror(file))
		error = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	if (error < 0)
		proc_maps_free(maps);
	return error < 0 ? error : 0;
}

int proc_maps_read(struct proc_maps *maps, pid_t pid)
{
	struct proc_maps read = {};
	char name[64];
	struct dirent *entry;
	DIR *tasks;
	int error;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	error = read_file(&read, name);
	if (error)
		return error;
	read.tid = pid;
	if (!read.nr) {		/* the leader has exited: ask the others */
		snprintf(name, sizeof(name), "/proc/%d/task", pid);
		tasks = opendir(name);
		while (tasks && !read.nr && (entry = readdir(tasks))) {
			if (entry->d_name[0] == '.' || atoi(entry->d_name) == pid)
				continue;
			snprintf(name, sizeof(name), "/proc/%d/task/%.10s/maps", pid, entry->d_name);
			if (!read_file(&read, name))
				read.tid = atoi(entry->d_name);
		}
		if (tasks)
			closedir(tasks);
	}
	*maps = read;
	return 0;
}

void proc_maps_free(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++)
		free(maps->mappings[i].path);
	free(maps->mappings);
	*maps = (struct proc_maps){};
}

bool proc_maps_repeats(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *m = &maps->mappings[i];

	for (size_t j = 0; j < i && m->inode; j++)
		if (maps->mappings[j].inode == m->inode && maps->mappings[j].dev == m->dev)
			return true;
	return false;
}

int proc_maps_open(pid_t tid, const struct proc_mapping *mapping)
{
	struct stat st;
	char name[4300];
	bool by_path;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, mapping->start, mapping->end);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	by_path = fd < 0;
	if (by_path) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", tid, mapping->path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (by_path && st.st_ino != mapping->inode)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

ssize_t proc_maps_read_vdso(pid_t tid, const struct proc_mapping *mapping, void **image)
{
	size_t size = mapping->end - mapping->start;
	char name[64];
	ssize_t done;
	void *bytes;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	bytes = malloc(size);
	if (!bytes) {
		close(fd);
		return -ENOMEM;
	}
	done = pread(fd, bytes, size, mapping->start);
	if (done < 0)
		done = -errno;
	close(fd);
	if (done <= 0) {
		free(bytes);
		return done ? done : -EIO;
	}
	*image = bytes;
	return done;
}
