/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other side of namer.h: who opens the files that have names, and who parses them. */
#ifndef EHPERF_REPORT_NAMER_WORK_H
#define EHPERF_REPORT_NAMER_WORK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_file.h"
#include "process/mapped_file.h"
#include "process/worker_child.h"
#include "stacks_abi.h"

#define MAX_NAMED             1024
#define NAMER_MAX_DIRECTORIES 16

/*
 * of one file, which the worker may not know yet, or of one process's code in no file. nr frames
 * follow, then strings with their NULs: the file's path, what a debuginfod has sent ("": nothing),
 * and the directories to look in for debug files
 */
struct namer_request {
	uint32_t pid;            /* in no file */
	uint32_t uid;            /* whose process it was; UINT32_MAX: not known */
	uint32_t module_id;      /* or 0 */
	struct mapped_file file; /* .path: not NULL, but for the vDSO */
	struct file_key key;
	struct debug_key debug; /* the debug file that is looked for */
	/*
	 * The answer is a struct debug_key, which the tool must know to have the debug file opened;
	 * nothing, if the file cannot be read. Else it is a struct named_frame for each frame. With
	 * nr 0, the file's names are read: its process may end
	 */
	bool asks_debug;
	bool wants_dump; /* of the process: jit_files_open() */
	bool no_demangle;
	uint32_t nr, nr_directories;
};
#define NAMER_MAX_REQUEST                                              \
	(sizeof(struct namer_request) + MAX_NAMED * sizeof(uint64_t) + \
	 (3 + NAMER_MAX_DIRECTORIES) * PATH_MAX)

/*
 * the answer: one of these for each frame, as far as there is room, with its strings and their NULs
 * behind it
 */
struct named_frame {
	uint64_t frame, offset, vaddr, function_vaddr;
	/* true is any number but 0: the worker may have been taken over */
	uint8_t has_vaddr, has_function, is_jit;
	uint8_t lacks_names; /* of its file a debuginfod might have more */
	uint8_t wants_dump;  /* for the next request */
	uint8_t gone;        /* its file could not be opened, and had not been read before */
	uint8_t no_room; /* its file or process has names that need more memory than the worker may take */
	uint16_t symbol_bytes, raw_bytes; /* raw: of a frame in no file, the region. 0: none */
};
#define MAX_NAME_BYTES 16384 /* longer ones end there */

/* In the opener: the file and its debug files, or the process's maps of names */
worker_open_fn namer_open;
/*
 * Takes a file and its debug files out of what the opener has sent; opened->fd stays in *file, too.
 */
void namer_take_files(struct opened_elf *opened, struct worker_file *file);
/* for struct workers */
worker_fn namer_work;

#endif
