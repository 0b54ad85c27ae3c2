// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "dwarf/regular_file.h"
#include "process/mapped_file.h"

/* proc_pid_status(5): "Uid:\tREAL\tEFFECTIVE\t…", "NSpid:\tOURS\t…\tINNERMOST" */
static int read_status(struct jit_files *f)
{
	int fd = openat(f->proc, "status", O_RDONLY | O_CLOEXEC), found = 0;
	FILE *status = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	if (!status) {
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	while (fgets(line, sizeof(line), status)) {
		char *last = strrchr(line, '\t');

		if (!strncmp(line, "Uid:", 4))
			found += sscanf(line, "Uid: %u %u", &f->uids[0], &f->uids[1]) == 2;
		else if (!strncmp(line, "NSpid:", 6) && last)
			found += (f->ns_pid = atoi(last)) > 0;
	}
	fclose(status);
	return found == 2 ? 0 : -ESRCH;
}

/*
 * Returns fd if the file is trusted; else closes it and returns -1. Negative values are returned as they are.
 */
static int check_owner(const struct jit_files *f, int fd)
{
	if (fd < 0 || regular_file_is_believed(fd, f->uids[0]) || regular_file_is_believed(fd, f->uids[1]))
		return fd;
	close(fd);
	return -1;
}

/* opens its root directory; -1: the process is gone, or a zombie */
static int open_root(const struct jit_files *f)
{
	return f->proc < 0 ? -1 : openat(f->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_map(const struct jit_files *f)
{
	int root = open_root(f), fd;
	char path[64];

	if (root < 0)
		return -1;
	snprintf(path, sizeof(path), "tmp/perf-%d.map", f->ns_pid);
	fd = regular_file_open(root, path, false);
	close(root);
	return check_owner(f, fd);
}

static int open_dump(const struct jit_files *f, const struct proc_maps *maps)
{
	char name[64];

	snprintf(name, sizeof(name), "jit-%d.dump", f->ns_pid);
	for (size_t i = 0; i < maps->nr; i++) {
		const struct proc_mapping *m = &maps->mappings[i];
		const char *slash = strrchr(m->path, '/');
		int fd;

		if (!m->inode || !slash || strcmp(slash + 1, name))
			continue;
		fd = check_owner(f, mapped_file_open_now(maps->tid, m));
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int jit_files_open(struct jit_files *files, pid_t pid, const struct proc_maps *maps)
{
	struct jit_files f = { .pid = pid, .map_fd = -1, .dump_fd = -1 };
	char name[32];
	int error, root;

	snprintf(name, sizeof(name), "/proc/%d", pid);
	f.proc = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f.proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = read_status(&f);
	root = error ? -1 : open_root(&f);
	if (root >= 0)
		close(root);
	else if (!error)
		error = errno == ENOENT ? -ESRCH : -errno;
	if (error) {
		close(f.proc);
		return error;
	}
	f.map_fd = open_map(&f);
	f.dump_fd = open_dump(&f, maps);
	*files = f;
	return 0;
}

int jit_files_open_dead(struct jit_files *files, pid_t pid)
{
	struct jit_files f = { .proc = -1, .ns_pid = pid, .dump_fd = -1 };
	char path[64];

	/* the tool's, whatever ID a worker has taken since */
	f.uids[0] = f.uids[1] = getauxval(AT_EUID);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	f.map_fd = check_owner(&f, regular_file_open(-1, path, false));
	if (f.map_fd < 0)
		return -ESRCH;
	*files = f;
	return 0;
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void jit_files_close(struct jit_files *files)
{
	close_file(&files->proc);
	close_file(&files->map_fd);
	close_file(&files->dump_fd);
	jit_names_free(&files->names);
}

/* The map may be new, or another file than before: a runtime may rewrite it on request. */
static void look_again(struct jit_files *f)
{
	int fd = open_map(f);

	if (fd < 0)
		return;
	close_file(&f->map_fd);
	f->map_fd = fd;
}

/* Few runtimes write both: the mappings are not read for nothing. */
static void look_for_dump(struct jit_files *f)
{
	struct proc_maps maps = {};

	if (f->proc < 0 || f->map_fd >= 0 || f->dump_fd >= 0 || f->no_dump || proc_maps_read(&maps, f->pid))
		return;
	f->dump_fd = open_dump(f, &maps);
	proc_maps_free(&maps);
}

int jit_files_update(struct jit_files *f)
{
	int error = 0;

	look_again(f);
	look_for_dump(f);
	if (f->map_fd >= 0)
		error = perf_map_read(&f->map, f->map_fd, &f->names);
	if (f->dump_fd >= 0 && error != -ENOMEM)
		error = jitdump_read(&f->dump, f->dump_fd, &f->names);
	if (error && error != -ENOMEM && f->dump_fd >= 0) {	/* not a jitdump, and never will be */
		close_file(&f->dump_fd);
		f->no_dump = true;
	}
	return error == -ENOMEM ? error : 0;
}

bool jit_files_any(const struct jit_files *files)
{
	return files->map_fd >= 0 || files->dump_fd >= 0;
}
