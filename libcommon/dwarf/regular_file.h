/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens paths that another user may control: only regular files, read-only. A file is checked
 * before it is opened, so that no FIFO blocks, no device is touched, and no file system's server is
 * asked for more than the path.
 */
#ifndef EHPERF_DWARF_REGULAR_FILE_H
#define EHPERF_DWARF_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* identifies a file by statx(); a file that was written to is another file */
struct file_key {
	uint64_t dev, inode;
	int64_t mtime_s, mtime_ns;
	int64_t born_s, born_ns; /* 0: the file system does not say; its inode may be used again */
	uint64_t bytes;
	/*
	 * cp -p may leave all of that as it was, but this; so do chmod and another name, after which
	 * it still is the file
	 */
	int64_t changed_s, changed_ns;
	/* these say nothing of which file it is */
	uint64_t owner;
	uint64_t mount; /* ID of the mount it was found in, as in /proc/PID/mountinfo */
	/*
	 * its path comes from a process with our root directory, and can be trusted
	 * (process/mapped_file.h)
	 */
	uint64_t in_our_root;
};
/* of it, for comparing: is it the one that was identified; may it be, as far as can be said? */
#define FILE_KEY_BYTES  offsetof(struct file_key, owner)
#define SAME_FILE_BYTES offsetof(struct file_key, changed_s)

/*
 * Finds the file at a path without opening it: an fd of O_PATH, or -errno, -ENOENT if it is not a
 * regular file. root: a directory that links cannot leave; -1: none. follow: the last part of the
 * path may be a link. *key is what is known of the file without asking a server
 */
int regular_file_find(int root, const char *path, bool follow, struct file_key *key);
/* Opens what was found, and closes `found`. An fd or -errno */
int regular_file_open_found(int found);

/* both: an fd or -errno */
int regular_file_open(int root, const char *path, bool follow);
/*
 * resolve: openat2(2)'s RESOLVE_ flags; links are followed as these allow. directory: may be -1
 * with an absolute path
 */
int regular_file_open_within(int directory, const char *path, uint64_t resolve);

/*
 * Is this open file trusted to describe code that `owner` owns? It must belong to root, to this
 * owner or to the tool's user, be readable for the owner, and not be writable for everybody. IDs
 * are those of the tool's user namespace, where the root of another user namespace is the user that
 * made it.
 */
bool regular_file_is_believed(int fd, uid_t owner);

#endif
