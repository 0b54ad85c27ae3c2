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
#include "process/proc_maps.h"

/* ---- opening ---- */

struct process {
	int proc, root; /* /proc/PID, even if the PID is reused, and its root directory */
	/* the second: its PID in its innermost namespace, which is in the files' names */
	pid_t pid, ns_pid;
	/* real and effective: files of these users, and root's, are trusted */
	uid_t uids[2];
};

/* proc_pid_status(5): "Uid:\tREAL\tEFFECTIVE\t…", "NSpid:\tOURS\t…\tINNERMOST" */
static int read_status(struct process *p)
{
	int fd = openat(p->proc, "status", O_RDONLY | O_CLOEXEC), found = 0;
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
			found += sscanf(line, "Uid: %u %u", &p->uids[0], &p->uids[1]) == 2;
		else if (!strncmp(line, "NSpid:", 6) && last)
			found += (p->ns_pid = atoi(last)) > 0;
	}
	fclose(status);
	return found == 2 ? 0 : -ESRCH;
}

/*
 * Returns fd if the file is trusted; else closes it and returns -1. Negative values are returned as
 * they are.
 */
static int check_owner(const struct process *p, int fd)
{
	if (fd < 0 || regular_file_is_believed(fd, p->uids[0]) ||
	    regular_file_is_believed(fd, p->uids[1]))
		return fd;
	close(fd);
	return -1;
}

static int open_map(const struct process *p)
{
	char path[64];

	snprintf(path, sizeof(path), "%stmp/perf-%d.map", p->root < 0 ? "/" : "", p->ns_pid);
	return check_owner(p, regular_file_open(p->root, path, false));
}

static int open_dump(const struct process *p)
{
	struct proc_maps maps = {};
	int dump = -1;
	char name[64];

	snprintf(name, sizeof(name), "jit-%d.dump", p->ns_pid);
	if (proc_maps_read(&maps, p->pid))
		return -1;
	for (size_t i = 0; i < maps.nr && dump < 0; i++) {
		const struct proc_mapping *m = &maps.mappings[i];
		const char *slash = strrchr(m->path, '/');

		if (m->inode && slash && !strcmp(slash + 1, name))
			dump = check_owner(p, mapped_file_open_now(maps.tid, m));
	}
	proc_maps_free(&maps);
	return dump;
}

/* 0 or -errno: -ESRCH: the process is gone, or a zombie */
static int open_process(struct process *p)
{
	char name[32];
	int error;

	snprintf(name, sizeof(name), "/proc/%d", p->pid);
	p->proc = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = read_status(p);
	if (!error)
		p->root = openat(p->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!error && p->root < 0)
		error = errno == ENOENT ? -ESRCH : -errno;
	return error;
}

void jit_files_open(struct jit_opened *opened, pid_t pid, bool dump)
{
	struct process p = { .proc = -1, .root = -1, .pid = pid };
	int *fds = opened->fds;

	*opened = (struct jit_opened){ .error = open_process(&p), .fds = { -1, -1, -1, -1 } };
	/* if only its leader has exited, the root directory is gone, and these are there */
	fds[JIT_STAT] = p.proc < 0 ? -1 : openat(p.proc, "stat", O_RDONLY | O_CLOEXEC);
	fds[JIT_MAPS] = p.proc < 0 ? -1 : proc_maps_open(pid);
	if (!opened->error) {
		fds[JIT_MAP] = open_map(&p);
		if (dump)
			fds[JIT_DUMP] = open_dump(&p);
	} else if (opened->error == -ESRCH) {
		p.ns_pid = pid;
		/* the tool's, whatever ID a worker has taken since */
		p.uids[0] = p.uids[1] = getauxval(AT_EUID);
		fds[JIT_MAP] = open_map(&p);
		opened->error = fds[JIT_MAP] < 0 && fds[JIT_MAPS] < 0 ? -ESRCH : 0;
	}
	if (p.root >= 0)
		close(p.root);
	if (p.proc >= 0)
		close(p.proc);
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void jit_opened_close(struct jit_opened *opened)
{
	for (int i = 0; i < NR_JIT_FDS; i++)
		close_file(&opened->fds[i]);
}

/* ---- reading ---- */

void jit_files_close(struct jit_files *files)
{
	close_file(&files->map_fd);
	close_file(&files->dump_fd);
	jit_names_free(&files->names);
}

static void take(int *file, int *given)
{
	if (*given < 0)
		return;
	close_file(file);
	*file = *given;
	*given = -1;
}

void jit_files_forget(struct jit_files *f)
{
	jit_names_free(&f->names);
	f->map = (struct perf_map){};
	f->dump = (struct jitdump){};
}

int jit_files_update(struct jit_files *f, int *map_fd, int *dump_fd)
{
	uint64_t skipped = f->map.skipped;
	int error = 0;

	/* the map may be new, or another file than before: a runtime may rewrite it on request */
	take(&f->map_fd, map_fd);
	if (f->dump_fd < 0 && !f->no_dump)
		take(&f->dump_fd, dump_fd);
	if (f->map_fd >= 0)
		error = perf_map_read(&f->map, f->map_fd, &f->names);
	if (f->map.skipped != skipped) /* all names were forgotten */
		f->dump = (struct jitdump){};
	if (f->dump_fd >= 0 && error != -ENOMEM)
		error = jitdump_read(&f->dump, f->dump_fd, &f->names);
	if (error && error != -ENOMEM && f->dump_fd >= 0) { /* not a jitdump, and never will be */
		close_file(&f->dump_fd);
		f->no_dump = true;
	}
	if (error != -ENOMEM)
		return 0;
	/* what could not be read may be newer than what is known: no name is better than a wrong one */
	jit_files_forget(f);
	return error;
}

bool jit_files_any(const struct jit_files *files)
{
	return files->map_fd >= 0 || files->dump_fd >= 0;
}

bool jit_files_want_dump(const struct jit_files *files)
{
	return !jit_files_any(files) && !files->no_dump;
}
