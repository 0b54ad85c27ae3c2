// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/mapped_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* where the file is looked for, in this order */
enum place {
	MAPPED,     /* the kernel's own link to it */
	OF_PROCESS, /* its path, as the process sees it */
	OWN,        /* its path, as we see it */
	NR_PLACES
};

void mapped_file_link(pid_t tid, uint64_t start, uint64_t end, char link[MAPPED_FILE_LINK_BYTES])
{
	snprintf(link, MAPPED_FILE_LINK_BYTES, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid,
		 start, end);
}

struct mapped_file mapped_file_of(pid_t tid, const struct proc_mapping *mapping)
{
	return (struct mapped_file){
		.tid = tid,
		.start = mapping->start,
		.end = mapping->end,
		.path = mapping->path,
	};
}

static int open_root(pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/root", tid);
	return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int find_of_process(const struct mapped_file *file, struct file_key *key)
{
	int root = open_root(file->tid), found;

	if (root < 0)
		return -errno;
	found = regular_file_find(root, file->path, true, key);
	close(root);
	return found;
}

/* an fd of O_PATH or -errno */
static int find(const struct mapped_file *file, enum place place, struct file_key *key)
{
	char link[MAPPED_FILE_LINK_BYTES];

	switch (place) {
	case MAPPED:
		mapped_file_link(file->tid, file->start, file->end, link);
		return regular_file_find(-1, link, true, key);
	case OF_PROCESS:
		return file->path[0] == '/' ? find_of_process(file, key) : -ENOENT;
	default:
		return file->path[0] == '/' ? regular_file_find(-1, file->path, true, key)
					    : -ENOENT;
	}
}

/*
 * The device in maps is not always stat()'s (btrfs, overlayfs), so the kernel's own link need not
 * have it; a path must lead to it.
 */
static bool is_mapped_there(const struct proc_mapping *mapping, enum place place,
			    const struct file_key *key)
{
	return key->inode == mapping->inode && (place == MAPPED || key->dev == mapping->dev);
}

static int find_mapped(pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	struct mapped_file file = mapped_file_of(tid, mapping);
	int error = 0;

	for (enum place place = MAPPED; place < NR_PLACES; place++) {
		int found = find(&file, place, key);

		if (found < 0) {
			if (!error)
				error = found;
			continue;
		}
		if (is_mapped_there(mapping, place, key))
			return found;
		close(found);
		error = -ESTALE;
	}
	return error;
}

bool mapped_file_names_memory(const char *path)
{
	static const char *const beginnings[] = { "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(path, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static bool is_shared_memory(const char *path)
{
	/* it is deleted */
	return mapped_file_names_memory(path) && path[proc_maps_path_length(path)];
}

/*
 * .NET, BEAM and PHP keep their code in shared memory, to map it once for writing and once for
 * running, or for their workers. It is no file with code, but what they make at run time; a program
 * that runs from there is.
 */
static bool is_made_at_run_time(const struct proc_mapping *mapping, int found)
{
	char magic[4] = "";
	int fd;

	if (!is_shared_memory(mapping->path))
		return false;
	fd = regular_file_open_found(fcntl(found, F_DUPFD_CLOEXEC, 0));
	if (fd < 0)
		return false;
	if (pread(fd, magic, sizeof(magic), 0) < 0)
		magic[0] = 0;
	close(fd);
	return memcmp(magic, "\177ELF", sizeof(magic));
}

int mapped_file_identify(pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	int found = find_mapped(tid, mapping, key);
	bool made;

	if (found < 0)
		return found;
	made = is_made_at_run_time(mapping, found);
	close(found);
	return made ? -ENOEXEC : 0;
}

/* its fd of O_PATH, if it is in this place; else -errno */
static int find_known(const struct mapped_file *file, enum place place, const struct file_key *key)
{
	struct file_key now;
	int found = find(file, place, &now);

	if (found < 0 || !memcmp(&now, key, SAME_FILE_BYTES))
		return found;
	close(found);
	return -ESTALE;
}

/* a directory's, or a namespace's: no server is asked. False: it is gone */
static bool identify_any(const char *path, struct file_key *key)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
		return false;
	*key = (struct file_key){ .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				  .inode = st.stx_ino };
	return true;
}

static bool is_same(const char *left, const char *right)
{
	struct file_key l, r;

	return identify_any(left, &l) && identify_any(right, &r) && !memcmp(&l, &r, sizeof(l));
}

bool process_has_our_root(pid_t pid)
{
	char root[32], mounts[32];

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", pid);
	return is_same("/", root) && is_same("/proc/self/ns/mnt", mounts);
}

int mapped_file_root(const struct mapped_file *file, const struct file_key *key, bool *own)
{
	int found = find_known(file, OWN, key);

	*own = found >= 0;
	if (found < 0)
		found = find_known(file, OF_PROCESS, key);
	if (found < 0)
		return -1;
	close(found);
	return *own ? -1 : open_root(file->tid);
}

/* Is it the root directory of one of the last few processes that were looked at? */
#define NR_ROOTS 64
static bool is_new_root(struct file_key roots[NR_ROOTS], size_t *nr, const char *name)
{
	struct file_key key;

	if (!identify_any(name, &key))
		return false;
	for (size_t i = 0; i < *nr && i < NR_ROOTS; i++)
		if (!memcmp(&roots[i], &key, sizeof(key)))
			return false;
	roots[(*nr)++ % NR_ROOTS] = key;
	return true;
}

static int find_in_any_root(const struct mapped_file *file, const struct file_key *key)
{
	struct file_key roots[NR_ROOTS];
	struct mapped_file elsewhere = *file;
	DIR *all = opendir("/proc");
	struct dirent *entry;
	int found = -1;
	char name[32];
	size_t nr = 0;

	while (all && found < 0 && (entry = readdir(all))) {
		elsewhere.tid = atoi(entry->d_name);
		snprintf(name, sizeof(name), "/proc/%d/root", elsewhere.tid);
		if (elsewhere.tid > 0 && is_new_root(roots, &nr, name))
			found = find_known(&elsewhere, OF_PROCESS, key);
	}
	if (all)
		closedir(all);
	return found < 0 ? -ESTALE : found;
}

int mapped_file_open(const struct mapped_file *file, const struct file_key *key, bool *own)
{
	int found = find_known(file, OWN, key);

	if (own)
		*own = found >= 0;
	for (enum place place = MAPPED; found < 0 && place < OWN; place++)
		found = find_known(file, place, key);
	if (found < 0 && file->path[0] == '/' && !file->ours)
		found = find_in_any_root(file, key);
	return found < 0 ? found : regular_file_open_found(found);
}

int mapped_file_open_now(pid_t tid, const struct proc_mapping *mapping)
{
	struct file_key key;
	int found = find_mapped(tid, mapping, &key);

	return found < 0 ? found : regular_file_open_found(found);
}
