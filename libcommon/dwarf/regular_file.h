/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening what another user may have put there: a regular file and nothing else, read-only. What a path
 * leads to is looked at before it is opened, so that no FIFO waits, no device notices, and no file system's
 * server is asked for more than the way there.
 */
#ifndef EHPERF_DWARF_REGULAR_FILE_H
#define EHPERF_DWARF_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* which file it is, as stat() says; a file that is written again is another one */
struct file_key {
	uint64_t dev, inode;
	int64_t mtime_s, mtime_ns;
	/* these say nothing of which file it is */
	uint64_t owner, bytes;
	uint64_t mount;		/* ID of the mount it was found in, as in /proc/PID/mountinfo */
	uint64_t in_our_root;	/* its path is from who has our root directory: nobody else chose the path (process/mapped_file.h) */
};
#define FILE_KEY_BYTES offsetof(struct file_key, owner)		/* of it, for comparing */

/*
 * The file as it is named, not opened: an fd of O_PATH, or -errno, -ENOENT if it is no regular file. Below
 * the directory `root`, wherever links lead, if that is not -1. `follow`: the last part of the path may be
 * a link. *key is what is known of the file without asking a server
 */
int regular_file_find(int root, const char *path, bool follow, struct file_key *key);
/* Opens what was found, and closes `found`. An fd or -errno */
int regular_file_open_found(int found);

/* both: an fd or -errno */
int regular_file_open(int root, const char *path, bool follow);

/*
 * Is what an open file says of others' code believed, where `owner` is who has the code anyway? It must be root's, this
 * owner's or the tool's user's, and not writable for all. IDs are those of the tool's user namespace: in there, root of
 * another one is who made that.
 */
bool regular_file_is_believed(int fd, uid_t owner);

#endif
