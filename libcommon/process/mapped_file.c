// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/mapped_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/opening.h"

/* where the file is looked for, in this order */
enum place {
	MAPPED,		/* the kernel's own link to it */
	OF_PROCESS,	/* its path, as the process sees it */
	OWN,		/* its path, as we see it */
	NR_PLACES
};

struct mapped_file mapped_file_of(pid_t tid, const struct proc_mapping *mapping)
{
	return (struct mapped_file){
		.tid = tid, .start = mapping->start, .end = mapping->end, .path = mapping->path,
	};
}

/* of a function that has these arguments */
static struct opening opening_of(enum opening_kind kind, const struct mapped_file *file)
{
	return (struct opening){ .kind = kind, .pid = file->tid, .start = file->start, .end = file->end, .ours = file->ours };
}

static int find_of_process(const struct mapped_file *file, struct file_key *key)
{
	int root = proc_open(-1, file->tid, PROC_ROOT), found;

	if (root < 0)
		return root;
	found = regular_file_find(root, file->path, true, key);
	close(root);
	return found;
}

/* an fd of O_PATH or -errno */
static int find(const struct mapped_file *file, enum place place, struct file_key *key)
{
	switch (place) {
	case MAPPED:
		return regular_file_find_mapped(file->tid, file->start, file->end, key);
	case OF_PROCESS:
		return file->path[0] == '/' ? find_of_process(file, key) : -ENOENT;
	default:
		return file->path[0] == '/' ? regular_file_find(-1, file->path, true, key) : -ENOENT;
	}
}

/*
 * The device in maps is not always stat()'s (btrfs, overlayfs), so the kernel's own link need not have it;
 * a path must lead to it.
 */
static bool is_mapped_there(const struct proc_mapping *mapping, enum place place, const struct file_key *key)
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

/* Memory that processes share, which maps shows as a file: of memfd_create(), MAP_SHARED | MAP_ANONYMOUS, shmget(), shm_unlink() */
static bool is_shared_memory(const char *path)
{
	static const char *const beginnings[] = { "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(path, beginnings[i], strlen(beginnings[i])))
			return path[proc_maps_path_length(path)];	/* it is deleted */
	return false;
}

/*
 * .NET, BEAM and PHP keep their code in shared memory, to map it once for writing and once for running, or for their workers.
 * It is no file with code, but what they make at run time; a program that runs from there is.
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

static int ask_about(enum opening_kind kind, pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	const struct mapped_file file = mapped_file_of(tid, mapping);
	struct opening opening = opening_of(kind, &file);
	struct opened opened = {};
	int fd;

	opening.dev = mapping->dev;
	opening.inode = mapping->inode;
	fd = opening_set_path(&opening, mapping->path) ?: opening_ask(&opening, -1, &opened);
	*key = opened.key;
	return fd;
}

int mapped_file_identify(pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	int found;
	bool made;

	if (opening_is_asked())
		return ask_about(IDENTIFY_MAPPED, tid, mapping, key);
	found = find_mapped(tid, mapping, key);
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

	if (found < 0 || !memcmp(&now, key, FILE_KEY_BYTES))
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
	*key = (struct file_key){ .dev = makedev(st.stx_dev_major, st.stx_dev_minor), .inode = st.stx_ino };
	return true;
}

static bool is_same(const char *left, const char *right)
{
	struct file_key l, r;

	return identify_any(left, &l) && identify_any(right, &r) && !memcmp(&l, &r, sizeof(l));
}

bool process_has_our_root(pid_t pid)
{
	const struct opening opening = { .kind = COMPARE_ROOT, .pid = pid };
	char root[32], mounts[32];
	struct opened opened;

	if (opening_is_asked())
		return !opening_ask(&opening, -1, &opened);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", pid);
	return is_same("/", root) && is_same("/proc/self/ns/mnt", mounts);
}

/* A worker asks about the kernel's own links first, of all of them at once. Has the process our root? */
static bool identify_some(pid_t tid, struct proc_mapping *const *mappings, size_t nr)
{
	struct opening opening = { .kind = IDENTIFY_RANGES, .pid = tid };
	struct opened opened[OPENING_MAX_RANGES] = {};
	bool asked;

	for (size_t i = 0; i < nr; i++) {
		opening.ranges[i].start = mappings[i]->start;
		opening.ranges[i].end = mappings[i]->end;
	}
	asked = opening_is_asked() && opening_ask_ranges(&opening, nr, opened);
	for (size_t i = 0; i < nr; i++) {
		struct proc_mapping *m = mappings[i];

		m->file = opened[i].key;
		m->file_error = 0;
		if (!asked || opened[i].result || !is_mapped_there(m, MAPPED, &m->file) || is_shared_memory(m->path))
			m->file_error = mapped_file_identify(tid, m, &m->file);
	}
	return asked ? opened->ours : process_has_our_root(tid);
}

/* the first of the few mappings up to this one that are of the same file, whose mappings lie together mostly */
static const struct proc_mapping *first_like(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *m = &maps->mappings[i], *first = m;

	for (size_t back = 1; back <= 8 && back <= i; back++)
		if (m[-back].inode == m->inode && m[-back].dev == m->dev)
			first = &m[-back];
	return first;
}

void mapped_file_identify_all(struct proc_maps *maps)
{
	struct proc_mapping *some[OPENING_MAX_RANGES];
	bool in_our_root = false;
	size_t nr = 0;

	for (size_t i = 0; i < maps->nr; i++) {
		if (maps->mappings[i].inode && first_like(maps, i) == &maps->mappings[i])
			some[nr++] = &maps->mappings[i];
		if (nr && (nr == OPENING_MAX_RANGES || i + 1 == maps->nr)) {
			in_our_root = identify_some(maps->tid, some, nr);
			nr = 0;
		}
	}
	for (size_t i = 0; i < maps->nr; i++) {
		struct proc_mapping *m = &maps->mappings[i];

		if (!m->inode)
			continue;
		m->file = first_like(maps, i)->file;
		m->file_error = first_like(maps, i)->file_error;
		m->file.in_our_root = in_our_root;
		m->looked = true;
	}
}

/* Asks the opener about a file that was identified before. */
static int ask_for(enum opening_kind kind, const struct mapped_file *file, const struct file_key *key, bool *own)
{
	struct opening opening = opening_of(kind, file);
	struct opened opened = {};
	int fd;

	opening.key = *key;
	fd = opening_set_path(&opening, file->path) ?: opening_ask(&opening, -1, &opened);
	if (own)
		*own = opened.ours;
	return fd;
}

int mapped_file_root(const struct mapped_file *file, const struct file_key *key)
{
	int found;

	if (opening_is_asked())
		return ask_for(OPEN_MAPPED_ROOT, file, key, NULL);
	found = find_known(file, OWN, key);
	if (found >= 0) {	/* it is ours */
		close(found);
		return -1;
	}
	found = find_known(file, OF_PROCESS, key);
	if (found < 0)
		return -1;
	close(found);
	return proc_open(-1, file->tid, PROC_ROOT);
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
	int found;

	if (opening_is_asked())
		return ask_for(OPEN_MAPPED, file, key, own);
	found = find_known(file, OWN, key);
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
	int found;

	if (opening_is_asked())
		return ask_about(OPEN_MAPPED_NOW, tid, mapping, &key);
	found = find_mapped(tid, mapping, &key);
	return found < 0 ? found : regular_file_open_found(found);
}
