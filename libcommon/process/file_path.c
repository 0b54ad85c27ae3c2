// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/file_path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/regular_file.h"
#include "process/mapped_file.h"
#include "process/proc_maps.h"

static const char *const library_directories[] = {
	"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib",
	"/usr/lib",        "/usr/local/lib",
};
#define NR_LIBRARY_DIRECTORIES (sizeof(library_directories) / sizeof(library_directories[0]))

/* where names are looked for */
struct place {
	char path[32]; /* "", or /proc/PID/root */
	int fd;        /* the directory there; -1: our own root */
};

/* libc.so in /usr/lib is a linker's script, and there may be libraries of 32 bits. */
static bool is_elf(int found)
{
	int fd = regular_file_open_found(found);
	Elf64_Ehdr header;
	bool is = fd >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
		  !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
		  header.e_ident[EI_CLASS] == ELFCLASS64 &&
		  (header.e_type == ET_EXEC || header.e_type == ET_DYN);

	if (fd >= 0)
		close(fd);
	return is;
}

static bool leads_to(const char *path, const struct file_key *key)
{
	struct file_key there;
	int found = regular_file_find(-1, path, true, &there);

	if (found >= 0)
		close(found);
	return found >= 0 && !memcmp(&there, key, FILE_KEY_BYTES);
}

/* How the kernel names what fd is of, cut if it is too long */
static void name_of(int fd, char name[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, PATH_MAX - 1);
	name[length < 0 ? 0 : length] = 0;
}

/*
 * A path from here to the file that was found in a process's root. Links in there may be absolute:
 * then it is the one without links, which begins as the root's own does.
 */
static bool path_to(const struct place *place, int found, const char *name,
		    const struct file_key *key, char path[PATH_MAX])
{
	char root[PATH_MAX], whole[PATH_MAX];
	size_t length;

	if (snprintf(path, PATH_MAX, "%s%s", place->path, name) < PATH_MAX && leads_to(path, key))
		return true;
	name_of(place->fd, root);
	name_of(found, whole);
	length = strcmp(root, "/") ? strlen(root) : 0;
	return !strncmp(whole, root, length) &&
	       snprintf(path, PATH_MAX, "%s%s", place->path, whole + length) < PATH_MAX &&
	       leads_to(path, key);
}

/*
 * Sets *path if an ELF file has this name there, links resolved if we have it, too; inode: only
 * that one, 0: any.
 */
static bool take(char path[PATH_MAX], const struct place *place, const char *name, uint64_t inode)
{
	struct file_key key;
	int found = regular_file_find(place->fd, name, true, &key);
	bool taken;

	if (found < 0)
		return false;
	taken = !inode || key.inode == inode;
	if (taken && place->fd >= 0 && !leads_to(name, &key))
		taken = path_to(place, found, name, &key, path);
	else if (taken && !strncmp(name, "/proc/", 6) && strlen(name) < PATH_MAX)
		/* what a process has there may have another name here, or none */
		strcpy(path, name);
	else if (taken)
		taken = realpath(name, path);
	if (taken)
		return is_elf(found);
	close(found);
	return false;
}

/* does this file name mean the name? libc: libc.so.6, libc-2.31.so; python3: python3 */
static bool means(const char *file_name, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(file_name, name, length))
		return false;
	file_name += length;
	return !*file_name || !strncmp(file_name, ".so", 3) ||
	       (*file_name == '-' && strstr(file_name, ".so"));
}

/* ---- as a process sees it ---- */

static const struct place here = { .fd = -1 };

/* For a process in a chroot, the kernel names files as we see them. */
static bool take_mapped(char path[PATH_MAX], const struct place *place,
			const struct proc_mapping *mapping)
{
	return take(path, place, mapping->path, mapping->inode) ||
	       take(path, &here, mapping->path, mapping->inode) ||
	       /* some file systems have other numbers in mappings */
	       take(path, place, mapping->path, 0);
}

/* Its path leads to another file now, or to none; the kernel's own link still leads to it. */
static bool take_deleted(char path[PATH_MAX], pid_t pid, const struct proc_mapping *mapping)
{
	char link[MAPPED_FILE_LINK_BYTES];

	mapped_file_link(pid, mapping->start, mapping->end, link);
	return take(path, &here, link, 0);
}

static bool find_mapped(const char *name, pid_t pid, const struct place *place, char path[PATH_MAX])
{
	struct proc_maps maps;
	bool found = false;

	if (proc_maps_read(&maps, pid))
		return false;
	for (size_t i = 0; i < maps.nr && !found; i++) {
		const struct proc_mapping *mapping = &maps.mappings[i];
		size_t length = proc_maps_path_length(mapping->path);
		char its_path[PATH_MAX], *slash;

		snprintf(its_path, sizeof(its_path), "%.*s", (int)length, mapping->path);
		slash = strrchr(its_path, '/');
		if (mapping->inode && slash && means(slash + 1, name))
			found = mapping->path[length] ? take_deleted(path, pid, mapping)
						      : take_mapped(path, place, mapping);
	}
	proc_maps_free(&maps);
	return found;
}

/* In another root, paths of mappings may be ours, and longer. */
static bool is_path_of(const struct place *place, const char *path, size_t length, const char *name)
{
	size_t tail = strlen(name);

	return (place->fd < 0 ? length == tail : length >= tail) &&
	       !memcmp(path + length - tail, name, tail);
}

/*
 * A process may still run the file that another has replaced since, as in an upgrade: then that is
 * the one that is meant. False: it cannot be had
 */
static bool take_what_was_there(pid_t pid, const struct place *place, char path[PATH_MAX])
{
	size_t prefix = strlen(place->path);
	const char *name = path + (strncmp(path, place->path, prefix) ? 0 : prefix);
	const struct proc_mapping *deleted = NULL;
	struct proc_maps maps;
	bool is_there = false, taken;

	if (proc_maps_read(&maps, pid))
		return true;
	for (size_t i = 0; i < maps.nr && !is_there; i++) {
		const struct proc_mapping *mapping = &maps.mappings[i];
		size_t length = proc_maps_path_length(mapping->path);

		if (!mapping->inode || !is_path_of(place, mapping->path, length, name))
			continue;
		is_there = !mapping->path[length];
		deleted = mapping;
	}
	taken = is_there || !deleted || take_deleted(path, pid, deleted);
	proc_maps_free(&maps);
	return taken;
}

/*
 * as the process sees it: what is mounted there may be of its own mount namespace. False: it is
 * gone, or not ours to see
 */
static bool find_root(pid_t pid, struct place *place)
{
	*place = here;
	if (!pid || process_has_our_root(pid))
		return true;
	snprintf(place->path, sizeof(place->path), "/proc/%d/root", pid);
	place->fd = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return place->fd >= 0;
}

/* ---- in directories ---- */

/* prefix: "lib" for a name without it */
static bool find_library(const struct place *place, const char *prefix, const char *name,
			 char path[PATH_MAX])
{
	bool found = false;

	for (size_t i = 0; i < NR_LIBRARY_DIRECTORIES && !found; i++) {
		char pattern[PATH_MAX];
		glob_t matches;

		if (snprintf(pattern, sizeof(pattern), "%s%s/%s%s*", place->path,
			     library_directories[i], prefix, name) >= (int)sizeof(pattern) ||
		    glob(pattern, 0, NULL, &matches))
			continue;
		for (size_t m = 0; m < matches.gl_pathc && !found; m++) {
			const char *match = matches.gl_pathv[m],
				   *file_name = strrchr(match, '/') + 1;

			found = strstr(file_name, ".so") &&
				means(file_name + strlen(prefix), name) &&
				take(path, place, match + strlen(place->path), 0);
		}
		globfree(&matches);
	}
	return found;
}

static bool find_program(const struct place *place, const char *name, char path[PATH_MAX])
{
	const char *directories = getenv("PATH");
	size_t length;

	for (; directories && *directories; directories += length + (directories[length] == ':')) {
		char candidate[PATH_MAX];

		length = strcspn(directories, ":");
		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, directories,
			     name) < (int)sizeof(candidate) &&
		    take(path, place, candidate, 0))
			return true;
	}
	return false;
}

/* of a library or a program: what would be a pattern for glob() is none, nor is a path */
static bool is_file_name(const char *name)
{
	return *name && !strpbrk(name, "/*?[\\") && strcmp(name, ".") && strcmp(name, "..");
}

/* by the name alone */
static bool find_named(const char *name, const struct place *place, char path[PATH_MAX])
{
	if (strchr(name, '/'))
		return take(path, *name == '/' && strncmp(name, "/proc/", 6) ? place : &here, name,
			    0);
	if (!is_file_name(name))
		return false;
	return find_library(place, "", name, path) || find_program(place, name, path) ||
	       find_library(place, "lib", name, path);
}

static bool find_file(const char *name, pid_t pid, const struct place *place, char path[PATH_MAX])
{
	return (pid && is_file_name(name) && find_mapped(name, pid, place, path)) ||
	       (find_named(name, place, path) && (!pid || take_what_was_there(pid, place, path)));
}

int file_path_find(const char *name, pid_t pid, char path[PATH_MAX])
{
	struct place place;
	bool found = find_root(pid, &place) && find_file(name, pid, &place, path);

	if (place.fd >= 0)
		close(place.fd);
	return found ? 0 : -ENOENT;
}
