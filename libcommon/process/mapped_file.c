// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int find_of_process(const struct mapped_file *file, struct file_key *key)
{
	char name[32];
	int root, found;

	snprintf(name, sizeof(name), "/proc/%d/root", file->tid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	found = regular_file_find(root, file->path, true, key);
	close(root);
	return found;
}

/* an fd of O_PATH or -errno */
static int find(const struct mapped_file *file, enum place place, struct file_key *key)
{
	char link[64];

	switch (place) {
	case MAPPED:
		snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->tid, file->start,
			 file->end);
		return regular_file_find(-1, link, true, key);
	case OF_PROCESS:
		return file->path[0] == '/' ? find_of_process(file, key) : -ENOENT;
	default:
		return file->path[0] == '/' ? regular_file_find(-1, file->path, true, key) : -ENOENT;
	}
}

/*
 * The device in maps is not always stat()'s (btrfs, overlayfs), so the kernel's own link need not have it; a path must
 * lead to it.
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

int mapped_file_identify(pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	int found = find_mapped(tid, mapping, key);

	if (found < 0)
		return found;
	close(found);
	return 0;
}

int mapped_file_open(const struct mapped_file *file, const struct file_key *key)
{
	int error = 0;

	for (enum place place = MAPPED; place < NR_PLACES; place++) {
		struct file_key now;
		int found = find(file, place, &now);

		if (found < 0) {
			if (!error)
				error = found;
			continue;
		}
		if (!memcmp(&now, key, sizeof(now)))
			return regular_file_open_found(found);
		close(found);
		error = -ESTALE;
	}
	return error;
}

int mapped_file_open_now(pid_t tid, const struct proc_mapping *mapping)
{
	struct file_key key;
	int found = find_mapped(tid, mapping, &key);

	return found < 0 ? found : regular_file_open_found(found);
}
