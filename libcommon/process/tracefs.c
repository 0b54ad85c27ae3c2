// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* a private, detached mount */
static int mount_tracefs(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC), fd;

	if (context < 0)
		return -errno;
	fd = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (!fd)
		fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		fd = -errno;
	close(context);
	return fd;
}

/* an fd of tracefs' root directory, or -errno */
static int open_tracefs(void)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int fd = open(mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		int error;

		if (fd < 0)
			continue;
		if (!faccessat(fd, "events", F_OK, AT_EACCESS))
			return fd;
		error = errno;
		close(fd);
		/* without a mount there, it is an empty directory */
		if (error == EACCES)
			return -EACCES;
	}
	return mount_tracefs();
}

/* A file of the tracepoint "sched/sched_switch". An fd or -errno */
static int open_file_of(const char *tracepoint, const char *file)
{
	char path[512];
	int tracefs = open_tracefs(), fd;

	if (tracefs < 0)
		return tracefs;
	snprintf(path, sizeof(path), "events/%s/%s", tracepoint, file);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(tracefs);
	return fd;
}

int tracefs_tracepoint_id(const char *name)
{
	char text[32] = "";
	int fd = open_file_of(name, "id"), id = -EINVAL;

	if (fd < 0)
		return fd;
	if (read(fd, text, sizeof(text) - 1) > 0)
		id = atoi(text);
	close(fd);
	return id;
}

/* ---- fields ---- */

/*
 * "\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;". 0, -ENOENT if the line has another
 * field, -EDOM
 */
static int parse_field(char *line, const char *name, struct tracefs_field *field)
{
	char *type = strstr(line, "field:"), *end = type ? strchr(type, ';') : NULL, *its_name;
	unsigned is_signed;

	if (!end)
		return -ENOENT;
	type += strlen("field:");
	*end = 0;
	its_name = strrchr(type, ' ');
	if (!its_name)
		return -ENOENT;
	*its_name++ = 0;
	if (strncmp(its_name, name, strlen(name)) ||
	    (its_name[strlen(name)] && its_name[strlen(name)] != '['))
		return -ENOENT;
	if (its_name[strlen(name)] || strstr(type, "_loc") || strchr(type, '*') ||
	    sscanf(end + 1, " offset:%u; size:%u; signed:%u;", &field->offset, &field->bytes,
		   &is_signed) != 3 ||
	    field->offset > UINT16_MAX ||
	    (field->bytes != 1 && field->bytes != 2 && field->bytes != 4 && field->bytes != 8))
		return -EDOM;
	field->is_signed = is_signed;
	field->is_size = !strcmp(type, "size_t") || !strcmp(type, "ssize_t") ||
			 !strncmp(name, "bytes", strlen("bytes"));
	return 0;
}

int tracefs_find_field(const char *tracepoint, const char *name, struct tracefs_field *field)
{
	int fd = open_file_of(tracepoint, "format"), error = -ENOENT;
	char *line = NULL;
	size_t room = 0;
	FILE *file;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (error == -ENOENT && getline(&line, &room, file) > 0)
		error = parse_field(line, name, field);
	free(line);
	fclose(file);
	return error;
}

/* ---- tracepoints ---- */

/* the subdirectories of a directory that match, sorted: *nr of them, or -errno */
static int matching(int directory, const char *path, const char *pattern, struct dirent ***entries)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), nr, kept = 0;

	if (fd < 0)
		return -errno;
	nr = scandirat(fd, ".", entries, NULL, alphasort);
	for (int i = 0; i < nr; i++) {
		struct dirent *entry = (*entries)[i];
		struct stat status;

		if (entry->d_name[0] != '.' && !fnmatch(pattern, entry->d_name, 0) &&
		    !fstatat(fd, entry->d_name, &status, 0) && S_ISDIR(status.st_mode))
			(*entries)[kept++] = entry;
		else
			free(entry);
	}
	close(fd);
	return nr < 0 ? -errno : kept;
}

static void free_entries(struct dirent **entries, int nr)
{
	for (int i = 0; i < nr; i++)
		free(entries[i]);
	if (nr >= 0)
		free(entries);
}

static int tracepoints_of(int tracefs, const char *group, const char *name,
			  int (*found)(void *arg, const char *group, const char *name), void *arg)
{
	struct dirent **events;
	char path[300];
	int nr, error = 0;

	snprintf(path, sizeof(path), "events/%s", group);
	nr = matching(tracefs, path, name, &events);
	for (int i = 0; i < nr && !error; i++)
		error = found(arg, group, events[i]->d_name);
	free_entries(events, nr);
	return nr < 0 ? nr : error;
}

int tracefs_tracepoints(const char *group, const char *name,
			int (*found)(void *arg, const char *group, const char *name), void *arg)
{
	int tracefs = open_tracefs(), nr, error = 0;
	struct dirent **groups;

	if (tracefs < 0)
		return tracefs;
	nr = matching(tracefs, "events", group, &groups);
	for (int i = 0; i < nr && !error; i++)
		error = tracepoints_of(tracefs, groups[i]->d_name, name, found, arg);
	free_entries(groups, nr);
	close(tracefs);
	return nr < 0 ? nr : error;
}

/* ---- functions ---- */

/* "name" or "name [module]" and the line's end, cut into its parts */
static void cut_function(char *line, const char **name, const char **module)
{
	char *space;

	line[strcspn(line, "\n")] = 0;
	*name = line;
	*module = "";
	space = strchr(line, ' ');
	if (!space)
		return;
	*space++ = 0;
	if (*space == '[') {
		*module = space + 1;
		space[strcspn(space, "]")] = 0;
	}
}

int tracefs_functions(const char *module, const char *name,
		      int (*found)(void *arg, const char *module, const char *name), void *arg)
{
	int tracefs = open_tracefs(), fd, error = 0;
	char *line = NULL;
	size_t room = 0;
	FILE *file;

	if (tracefs < 0)
		return tracefs;
	fd = openat(tracefs, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	close(tracefs);
	if (fd < 0)
		return -errno;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (!error && getline(&line, &room, file) > 0) {
		const char *its_name, *its_module;

		cut_function(line, &its_name, &its_module);
		if (!fnmatch(name, its_name, 0) && (!*module || !fnmatch(module, its_module, 0)))
			error = found(arg, its_module, its_name);
	}
	free(line);
	fclose(file);
	return error;
}
