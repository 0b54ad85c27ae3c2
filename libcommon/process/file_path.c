// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/file_path.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarf/elf_file.h"
#include "dwarf/regular_file.h"
#include "process/proc_maps.h"

#define MACHINE "x86_64-linux-gnu"

static const char *const library_directories[] = {
	"/lib/" MACHINE, "/usr/lib/" MACHINE, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
};
#define NR_LIBRARY_DIRECTORIES (sizeof(library_directories) / sizeof(library_directories[0]))

/* libc.so in /usr/lib is a linker's script */
static bool is_elf(const char *path)
{
	int fd = regular_file_open(-1, path, true);
	struct elf_file file;
	bool is = fd >= 0 && !elf_file_open(&file, fd);

	if (is)
		elf_file_close(&file);
	if (fd >= 0)
		close(fd);
	return is;
}

/* Sets *path to root + found, links resolved if it is our own root. */
static bool take(char path[PATH_MAX], const char *root, const char *found)
{
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%s%s", root, found) >= (int)sizeof(whole) || !is_elf(whole))
		return false;
	if (*root)
		strcpy(path, whole);
	else if (!realpath(whole, path))
		return false;
	return true;
}

/* does this file name mean the name? libc: libc.so.6, libc-2.31.so; python3: python3 */
static bool means(const char *file_name, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(file_name, name, length))
		return false;
	file_name += length;
	return !*file_name || !strncmp(file_name, ".so", 3) || (*file_name == '-' && strstr(file_name, ".so"));
}

/* ---- as a process sees it ---- */

static bool find_mapped(const char *name, pid_t pid, const char *root, char path[PATH_MAX])
{
	struct proc_maps maps;
	bool found = false;

	if (proc_maps_read(&maps, pid))
		return false;
	for (size_t i = 0; i < maps.nr && !found; i++) {
		const char *slash = strrchr(maps.mappings[i].path, '/');

		if (maps.mappings[i].inode && slash && means(slash + 1, name))
			found = take(path, root, maps.mappings[i].path);
	}
	proc_maps_free(&maps);
	return found;
}

/* "" if the process has our root directory */
static void root_of(pid_t pid, char root[32])
{
	struct stat ours, theirs;

	root[0] = 0;
	if (!pid)
		return;
	snprintf(root, 32, "/proc/%d/root", pid);
	if (!stat("/", &ours) && !stat(root, &theirs) && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino)
		root[0] = 0;
}

/* ---- in directories ---- */

/* prefix: "lib" for a name without it */
static bool find_library(const char *root, const char *prefix, const char *name, char path[PATH_MAX])
{
	bool found = false;

	for (size_t i = 0; i < NR_LIBRARY_DIRECTORIES && !found; i++) {
		char pattern[PATH_MAX];
		glob_t matches;

		if (snprintf(pattern, sizeof(pattern), "%s%s/%s%s*", root, library_directories[i], prefix, name) >=
			    (int)sizeof(pattern) || glob(pattern, 0, NULL, &matches))
			continue;
		for (size_t m = 0; m < matches.gl_pathc && !found; m++) {
			const char *match = matches.gl_pathv[m], *file_name = strrchr(match, '/') + 1;

			found = strstr(file_name, ".so") && means(file_name + strlen(prefix), name) &&
				take(path, root, match + strlen(root));
		}
		globfree(&matches);
	}
	return found;
}

static bool find_program(const char *root, const char *name, char path[PATH_MAX])
{
	const char *directories = getenv("PATH");
	size_t length;

	for (; directories && *directories; directories += length + (directories[length] == ':')) {
		char candidate[PATH_MAX];

		length = strcspn(directories, ":");
		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, directories, name) <
			    (int)sizeof(candidate) && take(path, root, candidate))
			return true;
	}
	return false;
}

int file_path_find(const char *name, pid_t pid, char path[PATH_MAX])
{
	char root[32];

	root_of(pid, root);
	if (strchr(name, '/'))
		return take(path, *name == '/' ? root : "", name) ? 0 : -ENOENT;
	/* what would be a pattern for glob() is the name of no library */
	if (!*name || strpbrk(name, "*?[\\") || !strcmp(name, ".") || !strcmp(name, ".."))
		return -ENOENT;
	if ((pid && find_mapped(name, pid, root, path)) || find_library(root, "", name, path) ||
	    find_program(root, name, path) || find_library(root, "lib", name, path))
		return 0;
	return -ENOENT;
}
