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

#define DEBUG_DIRECTORY          "/usr/lib/debug"
#define DEBUG_FILE_MAX_CRC_BYTES (1ULL << 30) /* what is read of a file to check its CRC32 */
#define DEBUG_DATA_MAX_BYTES     (64 << 20)   /* what .gnu_debugdata may hold */
#define DEBUG_DATA_MAX_MEMORY    (72 << 20)   /* what liblzma may use: xz -9 wants 65 MiB */

struct debug_search {
	const char *const *directories; /* to look in before /usr/lib/debug */
	size_t nr_directories;
	/*
	 * an fd (O_PATH will do) of the root directory of the container that has the file; -1: ours
	 */
	int root;
	/* the file is not found by its path in our root: nothing lies beside it there */
	bool elsewhere;
};

/*
 * What a file says of its debug file: plain data, which one process may read and another may search
 * by
 */
struct debug_key {
	uint8_t build_id[MAX_BUILD_ID];
	uint32_t build_id_bytes; /* 0: none */
	uint32_t crc;            /* of .gnu_debuglink, */
	char link[NAME_MAX + 1]; /* with this name; "": none */
};

void debug_key_read(struct debug_key *key, struct elf_file *file);
/* Is it as debug_key_read() might have made it? To be asked if it comes from a worker. */
bool debug_key_is_sound(const struct debug_key *key);

#define MAX_DEBUG_FILES 12

/* open files that may be a file's debug file, the likeliest first */
struct debug_files {
	int fds[MAX_DEBUG_FILES];
	size_t nr;
};

/* a file, and what may be its debug files, for who can open nothing */
struct opened_elf {
	int fd; /* negative: it cannot be opened, or is no file, as the vDSO */
	struct debug_files local, fetched; /* found on this machine, and sent by a debuginfod */
};

/*
 * Looks under each directory, then under /usr/lib/debug of `root`, then of our own root,
 *   1. by build ID: .build-id/ab/cdef….debug
 *   2. by the name in .gnu_debuglink: beside the file, in .debug/ there, and in its directory's
 *      place under the debug directory.
 * Only regular files are opened. Outside of `directories`, they must also be trusted:
 * regular_file_is_believed(), and if they are on FUSE, on the same file system as the file. No link
 * is followed but those below /usr/lib/debug, which a container's may not leave, and a file that
 * only its owner may read must be called .debug: who has taken over a parser may have chosen the
 * key. Nothing is read of the files. `path` is the file's, as the process sees it; NULL: by build
 * ID only. fd: the file's; -1: it is none, as the vDSO
 */
void debug_files_find(struct debug_files *files, const struct debug_search *search,
		      const struct debug_key *key, int fd, const char *path);
/*
 * The first file with the same build ID, or, if one of the two has none, with the link's CRC32: an
 * fd, which is the caller's. Closes the others. -ENOENT: there is none
 */
int debug_files_take(struct debug_files *files, const struct debug_key *key);
/* The same, by the key of this file */
int debug_file_take(struct debug_files *files, struct elf_file *file);
void debug_files_close(struct debug_files *files);

/*
 * An fd of the file's separate debug file, by both. opened: what may be it, for a process that can
 * open nothing; the others are closed. NULL: it is searched for. -ENOENT: there is none
 */
int debug_file_open(struct opened_elf *opened, const struct debug_search *search,
		    struct elf_file *file, const char *path);

/* "DIRECTORY/.build-id/ab/cdef….debug", of a build ID of 2 bytes to MAX_BUILD_ID */
#define DEBUG_FILE_MAX_PATH (PATH_MAX + 512)
void debug_file_path_by_id(char path[DEBUG_FILE_MAX_PATH], const char *directory, const uint8_t *id,
			   size_t bytes);

/*
 * The ELF image that is compressed in .gnu_debugdata, opened; *image is to be freed after
 * elf_file_close(). -ENOENT, -EFBIG, -EBADMSG, -ENOMEM, or as elf_file_open()
 */
int debug_data_open(struct elf_file *file, struct elf_file *mini, void **image);

#endif
