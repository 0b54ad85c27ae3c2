/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_BASE_FILE_KEY_H
#define EHPERF_BASE_FILE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* identifies a file by stat(); a file that was written to is another file */
struct file_key {
	uint64_t dev, inode;
	int64_t mtime_s, mtime_ns;
	/* these say nothing of which file it is */
	uint64_t owner, bytes;
	uint64_t mount;		/* ID of the mount it was found in, as in /proc/PID/mountinfo */
	uint64_t in_our_root;	/* its path comes from a process with our root directory, and can be trusted (process/mapped_file.h) */
};
#define FILE_KEY_BYTES offsetof(struct file_key, owner)		/* of it, for comparing */

#endif
