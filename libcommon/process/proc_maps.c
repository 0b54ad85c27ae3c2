// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc_maps.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "process/paths.h"

/* processes may be read by several threads */
static uint64_t new_number(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* mapping->path points into line */
static int parse_line(char *line, struct proc_mapping *mapping, bool *code)
{
	unsigned major, minor;
	char perms[5];
	int path = 0;

	*mapping = (struct proc_mapping){};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, perms, &mapping->file_offset, &major, &minor,
		   &mapping->inode, &path) < 7 ||
	    !path)
		return -EBADMSG;
	mapping->dev = makedev(major, minor);
	mapping->path = line + path;
	mapping->path[strcspn(mapping->path, "\n")] = 0;
	*code = perms[2] == 'x';
	return 0;
}

static uint64_t end_offset(const struct proc_mapping *m)
{
	return m->file_offset + (m->end - m->start);
}

/*
 * Anonymous code that exactly fills the hole between two pieces of one file's mapping is the file's
 * text, moved to huge pages (as node --use-largepages does). Makes it a mapping of the file again.
 */
static void adopt(const struct proc_mapping *before, struct proc_mapping *code,
		  const struct proc_mapping *after)
{
	if (!proc_mapping_is_anonymous(code) || !before->inode || before->inode != after->inode ||
	    before->dev != after->dev || before->end != code->start || code->end != after->start ||
	    end_offset(before) + (code->end - code->start) != after->file_offset)
		return;
	code->dev = before->dev;
	code->inode = before->inode;
	code->file_offset = end_offset(before);
	code->path = before->path;
}

/* a user of the last mapping's path, if it is the same. NULL: no memory */
static char *path_like(const struct proc_maps *maps, const char *path)
{
	char *last = maps->nr ? maps->mappings[maps->nr - 1].path : NULL;

	return last && !strcmp(last, path) ? path_share(last) : path_get(path);
}

size_t proc_maps_path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), tail = sizeof(deleted) - 1;

	return length > tail && !strcmp(path + length - tail, deleted) ? length - tail : length;
}

/*
 * The kernel produces the file piece by piece, so that a mapping that changes meanwhile may appear
 * twice, in parts. Mappings must not overlap: the second part is trimmed or dropped.
 */
int proc_maps_append(struct proc_maps *maps, const struct proc_mapping *mapping)
{
	struct proc_mapping *added;
	uint64_t from = maps->nr ? maps->mappings[maps->nr - 1].end : 0;

	if (mapping->end <= from || mapping->end <= mapping->start)
		return 0;
	if (maps->nr == MAX_PROC_MAPPINGS)
		return -E2BIG;
	if (array_reserve(&maps->mappings, &maps->room, maps->nr + 1))
		return -ENOMEM;
	added = &maps->mappings[maps->nr];
	*added = *mapping;
	if (mapping->start < from) {
		added->start = from;
		added->file_offset += from - mapping->start;
	}
	added->number = new_number();
	added->path = path_like(maps, mapping->path);
	if (!added->path)
		return -ENOMEM;
	maps->nr++;
	return 0;
}

/*
 * A window of three lines moves over the file: the middle one is appended when both of its
 * neighbours are known.
 */
static int read_file(struct proc_maps *maps, FILE *file)
{
	char *lines[3] = {};
	size_t sizes[3] = {};
	struct proc_mapping around[3] = { { .path = "" }, { .path = "" }, { .path = "" } };
	bool code[3] = {}, more = true;
	size_t path_bytes = 0;
	int error = 0;

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	for (int next = 0; more && !error; next = (next + 1) % 3) {
		int middle = (next + 2) % 3, before = (next + 1) % 3;

		more = getline(&lines[next], &sizes[next], file) > 0;
		around[next] = (struct proc_mapping){ .path = "" };
		code[next] = false;
		if (more)
			error = parse_line(lines[next], &around[next], &code[next]);
		if (!error && code[middle]) {
			adopt(&around[before], &around[middle], &around[next]);
			path_bytes += strlen(around[middle].path);
			error = path_bytes > MAX_PROC_PATHS
					? -E2BIG
					: proc_maps_append(maps, &around[middle]);
		}
	}
	if (!error && ferror(file))
		error = errno ? -errno : -EIO;
	for (int i = 0; i < 3; i++)
		free(lines[i]);
	fclose(file);
	if (error)
		proc_maps_free(maps);
	return error;
}

/* a thread of the process, but its leader; 0: there is no further one */
static pid_t next_thread(DIR *tasks, pid_t pid)
{
	const struct dirent *entry;

	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != pid)
			return tid;
	}
	return 0;
}

static DIR *open_tasks(pid_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	return opendir(name);
}

static void close_tasks(DIR *tasks)
{
	if (tasks)
		closedir(tasks);
}

#define MAPS_NAME 64
static const char *name_maps(char name[MAPS_NAME], pid_t pid, pid_t tid)
{
	snprintf(name, MAPS_NAME, "/proc/%d/task/%d/maps", pid, tid);
	return name;
}

int proc_maps_read(struct proc_maps *maps, pid_t pid)
{
	struct proc_maps read = {};
	char name[MAPS_NAME];
	DIR *tasks;
	int error;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	error = read_file(&read, fopen(name, "re"));
	if (error)
		return error;
	read.tid = pid;
	if (!read.nr) { /* the leader has exited: read another thread's */
		tasks = open_tasks(pid);
		for (pid_t tid; !read.nr && (tid = next_thread(tasks, pid));)
			if (!read_file(&read, fopen(name_maps(name, pid, tid), "re")))
				read.tid = tid;
		close_tasks(tasks);
	}
	*maps = read;
	return 0;
}

/* an fd, or -errno: -ESRCH: the thread, or all of its process, has exited */
static int open_maps(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	char byte;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (pread(fd, &byte, 1, 0) > 0)
		return fd;
	close(fd);
	return -ESRCH;
}

int proc_maps_open(pid_t pid)
{
	char name[MAPS_NAME];
	DIR *tasks;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	fd = open_maps(name);
	if (fd != -ESRCH)
		return fd;
	tasks = open_tasks(pid);
	for (pid_t tid; fd < 0 && (tid = next_thread(tasks, pid));)
		fd = open_maps(name_maps(name, pid, tid));
	close_tasks(tasks);
	return fd;
}

int proc_maps_read_open(struct proc_maps *maps, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "r");

	*maps = (struct proc_maps){};
	if (!file && copy >= 0)
		close(copy);
	return read_file(maps, file);
}

/* One user less; the array goes with the last one. */
static void release(struct proc_mapping *mappings, size_t nr, unsigned *nr_users)
{
	if (nr_users && --*nr_users)
		return;
	for (size_t i = 0; i < nr; i++)
		path_release(mappings[i].path);
	free(mappings);
	free(nr_users);
}

void proc_maps_free(struct proc_maps *maps)
{
	release(maps->mappings, maps->nr, maps->nr_users);
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

/* ---- changes ---- */

/* Before it is changed: an array of its own, with room for one mapping more. 0 or -ENOMEM */
static int make_own(struct proc_maps *maps)
{
	struct proc_mapping *own = NULL;
	size_t room = 0;

	if (!maps->nr_users || *maps->nr_users == 1)
		return 0;
	if (array_reserve(&own, &room, maps->nr + 1))
		return -ENOMEM;
	memcpy(own, maps->mappings, maps->nr * sizeof(*own));
	for (size_t i = 0; i < maps->nr; i++)
		path_share(own[i].path);
	release(maps->mappings, maps->nr, maps->nr_users);
	maps->mappings = own;
	maps->room = room;
	maps->nr_users = NULL;
	return 0;
}

static int make_room(struct proc_maps *maps, size_t at)
{
	if (maps->nr >= MAX_PROC_MAPPINGS)
		return -E2BIG;
	if (array_reserve(&maps->mappings, &maps->room, maps->nr + 1))
		return -ENOMEM;
	memmove(&maps->mappings[at + 1], &maps->mappings[at],
		(maps->nr - at) * sizeof(*maps->mappings));
	maps->nr++;
	return 0;
}

/* the first mapping that ends after the address */
static size_t first_after(const struct proc_maps *maps, uint64_t address)
{
	return count_up_to(maps->mappings, maps->nr, end, address);
}

/* [start, end) lies within m: a hole that splits it */
static int split(struct proc_maps *maps, size_t at, uint64_t start, uint64_t end)
{
	struct proc_mapping *m;
	int error = make_room(maps, at + 1);

	if (error)
		return error;
	m = &maps->mappings[at];
	m[1] = m[0];
	path_share(m->path);
	m[0].end = start;
	m[1].file_offset += end - m->start;
	m[1].start = end;
	return 0;
}

int proc_maps_remove(struct proc_maps *maps, uint64_t start, uint64_t end, bool *removed)
{
	size_t first = first_after(maps, start), last = first, kept;
	struct proc_mapping *m;
	int error = 0;

	*removed = first < maps->nr && start < end && maps->mappings[first].start < end;
	if (!*removed)
		return 0;
	error = make_own(maps);
	m = maps->mappings;
	if (!error && m[first].start < start && m[first].end > end) {
		error = split(maps, first, start, end);
		*removed = !error;
		return error;
	}
	if (error) {
		*removed = false;
		return error;
	}
	while (last < maps->nr && m[last].start < end)
		last++;
	if (m[first].start < start)
		m[first++].end = start;
	if (last > first && m[last - 1].end > end) {
		last--;
		m[last].file_offset += end - m[last].start;
		m[last].start = end;
	}
	for (kept = first; first < last; first++)
		path_release(m[first].path);
	memmove(m + kept, m + last, (maps->nr - last) * sizeof(*m));
	maps->nr -= last - kept;
	return 0;
}

/* Is it anonymous memory that lies in a file's mapping? */
static bool is_moved_text(const struct proc_maps *maps, const struct proc_mapping *mapping)
{
	size_t at = first_after(maps, mapping->start);
	const struct proc_mapping *there = &maps->mappings[at];

	return proc_mapping_is_anonymous(mapping) && at < maps->nr && there->inode &&
	       there->start <= mapping->start && there->end >= mapping->end;
}

int proc_maps_add(struct proc_maps *maps, const struct proc_mapping *mapping)
{
	struct proc_mapping added = *mapping;
	bool removed;
	size_t at;
	int error;

	if (is_moved_text(maps, mapping))
		return 0;
	added.path = path_get(mapping->path);
	if (!added.path)
		return -ENOMEM;
	added.number = new_number();
	error = make_own(maps);
	if (!error)
		error = proc_maps_remove(maps, mapping->start, mapping->end, &removed);
	at = first_after(maps, mapping->start);
	if (!error)
		error = make_room(maps, at);
	if (error) {
		path_release(added.path);
		return error;
	}
	maps->mappings[at] = added;
	return 0;
}

int proc_maps_copy(struct proc_maps *copy, struct proc_maps *maps)
{
	if (!maps->nr_users) {
		maps->nr_users = malloc(sizeof(*maps->nr_users));
		if (!maps->nr_users)
			return -ENOMEM;
		*maps->nr_users = 1;
	}
	++*maps->nr_users;
	*copy = *maps;
	return 0;
}

/* by its headers: no file needs to be opened for it */
static size_t vdso_bytes(const Elf64_Ehdr *vdso)
{
	const Elf64_Phdr *segments = (const void *)((const char *)vdso + vdso->e_phoff);
	size_t bytes = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;

	for (int i = 0; i < vdso->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_offset + segments[i].p_filesz > bytes)
			bytes = segments[i].p_offset + segments[i].p_filesz;
	return bytes;
}

ssize_t proc_maps_copy_vdso(void **image)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = vdso ? vdso_bytes(vdso) : 0;

	if (!vdso)
		return -ENOENT;
	*image = malloc(bytes);
	if (!*image)
		return -ENOMEM;
	memcpy(*image, vdso, bytes);
	return bytes;
}
