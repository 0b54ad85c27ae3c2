/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the names of a stripped file: separate debug files, and .gnu_debugdata (MiniDebugInfo).
 */
#ifndef EHPERF_DWARF_DEBUG_FILE_H
#define EHPERF_DWARF_DEBUG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define DEBUG_FILE_MAX_CRC_BYTES (1ULL << 30)	/* what is read of a file to check its CRC32 */
#define DEBUG_DATA_MAX_BYTES (64 << 20)		/* what .gnu_debugdata may hold */
#define DEBUG_DATA_MAX_MEMORY (72 << 20)	/* what liblzma may use: xz -9 wants 65 MiB */

struct debug_search {
	const char *const *directories;	/* to look in before /usr/lib/debug */
	size_t nr_directories;
	int root;			/* an fd (O_PATH will do) of the root directory of the container that has the file; -1: ours */
};

/*
 * An fd of the file's separate debug file: under each directory, then under /usr/lib/debug of `root`, then
 * of our own root,
 *   1. by build ID: .build-id/ab/cdef….debug
 *   2. by the name in .gnu_debuglink: beside the file, in .debug/ there, and in its directory's place under the
 *      debug directory.
 * The result must be a regular file with the same build ID; if one of the two has none, its CRC32 must be that of the link.
 * Outside of `directories`, it must also be trusted: regular_file_is_believed(), and if it is on FUSE, on the same file system
 * as the file. `path` is the file's, as the process sees it; NULL: by build ID only. -ENOENT: there is none
 */
int debug_file_open(const struct debug_search *search, struct elf_file *file, const char *path);

/* "DIRECTORY/.build-id/ab/cdef….debug", of a build ID of 2 bytes to MAX_BUILD_ID */
#define DEBUG_FILE_MAX_PATH (PATH_MAX + 512)
void debug_file_path_by_id(char path[DEBUG_FILE_MAX_PATH], const char *directory, const uint8_t *id, size_t bytes);

/* An fd of a debug file that a server has sent, if it has the file's build ID; -ENOENT */
int debug_file_open_fetched(struct elf_file *file, const char *path);

/*
 * The ELF image that is compressed in .gnu_debugdata, opened; *image is to be freed after elf_file_close().
 * -ENOENT, -EFBIG, -EBADMSG, -ENOMEM, or as elf_file_open()
 */
int debug_data_open(struct elf_file *file, struct elf_file *mini, void **image);

#endif
