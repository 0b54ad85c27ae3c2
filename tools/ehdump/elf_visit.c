// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf_visit.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarf/regular_file.h"
#include "run/cli.h"
#include "process/mapped_file.h"
#include "process/proc_maps.h"

static void fail(const struct elf_visitor *visitor, const char *name, const char *why)
{
	visitor->failed(visitor->arg, name, why);
}

static void visit_fd(const char *path, int fd, bool pass_over, const struct elf_visitor *visitor)
{
	struct elf_file file;
	int error = elf_file_open(&file, fd);

	if (!error) {
		error = visitor->visit(visitor->arg, path, &file);
		elf_file_close(&file);
	}
	if (error && !(pass_over && (error == -ENOEXEC || error == -ENOTSUP || error == -ENOENT)))
		fail(visitor, path, elf_file_explain(error));
	close(fd);
}

static void visit_file(const char *path, bool pass_over, const struct elf_visitor *visitor)
{
	int fd = regular_file_open(-1, path, true);
	struct stat st;

	if (fd >= 0)
		visit_fd(path, fd, pass_over, visitor);
	else if (fd != -ENOENT || stat(path, &st))
		fail(visitor, path, strerror(-fd));
	else if (S_ISDIR(st.st_mode))
		fail(visitor, path, "a directory: use --recursive for the files in it");
	else
		fail(visitor, path, "not a regular file");
}

static void visit_entry(const FTSENT *entry, const struct elf_visitor *visitor)
{
	switch (entry->fts_info) {
	case FTS_F:
		if (entry->fts_statp->st_size)
			visit_file(entry->fts_path, true, visitor);
		break;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
		fail(visitor, entry->fts_path, strerror(entry->fts_errno));
		break;
	}
}

static void visit_directory(const char *name, const struct elf_visitor *visitor)
{
	char *path = realpath(name, NULL); /* follows a symbolic link that is named itself */
	FTS *tree =
		path ? fts_open((char *[]){ path, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	FTSENT *entry;

	errno = tree ? 0 : errno;
	while (tree && (entry = fts_read(tree)))
		visit_entry(entry, visitor);
	if (errno)
		fail(visitor, name, strerror(errno));
	if (tree)
		fts_close(tree);
	free(path);
}

static void visit_vdso(const struct proc_mapping *mapping, const struct elf_visitor *visitor)
{
	struct elf_file file;
	void *image;
	ssize_t size = proc_maps_copy_vdso(&image);
	int error = size < 0 ? (int)size : elf_file_open_memory(&file, image, size);

	if (!error) {
		error = visitor->visit(visitor->arg, mapping->path, &file);
		elf_file_close(&file);
	}
	if (error)
		fail(visitor, mapping->path, elf_file_explain(error));
	if (size >= 0)
		free(image);
}

static void visit_process(const char *name, pid_t pid, const struct elf_visitor *visitor)
{
	struct proc_maps maps;
	int error = proc_maps_read(&maps, pid);

	if (error || !maps.nr) {
		fail(visitor, name, error ? strerror(-error) : "the process has no code mapped");
		return;
	}
	for (size_t i = 0; i < maps.nr; i++) {
		const struct proc_mapping *m = &maps.mappings[i];
		int fd;

		if (proc_maps_repeats(&maps, i))
			continue;
		if (!strcmp(m->path, "[vdso]")) {
			visit_vdso(m, visitor);
		} else if (m->inode) {
			fd = mapped_file_open_now(maps.tid, m);
			if (fd < 0)
				fail(visitor, m->path, strerror(-fd));
			else
				visit_fd(m->path, fd, false, visitor);
		}
	}
	proc_maps_free(&maps);
}

void elf_visit(const char *name, bool recursive, const struct elf_visitor *visitor)
{
	struct stat st = {};
	uint64_t pid;

	if (stat(name, &st) && cli_parse_number(name, 1, INT_MAX, &pid))
		visit_process(name, pid, visitor);
	else if (S_ISDIR(st.st_mode) && recursive)
		visit_directory(name, visitor);
	else
		visit_file(name, false, visitor);
}
