/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker's side of namer.h. */
#ifndef EHPERF_REPORT_NAMER_WORK_H
#define EHPERF_REPORT_NAMER_WORK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/mapped_file.h"
#include "process/worker_child.h"
#include "stacks_abi.h"

#define MAX_NAMED 1024
#define NAMER_MAX_PATH 4300

/*
 * of one file, which the worker may not know yet, or of one process's code in no file. nr 0: the file's
 * names are read
 */
struct namer_request {
	uint32_t pid;			/* in no file */
	uint32_t module_id;		/* or 0 */
	struct mapped_file file;	/* .path: NULL, as for the vDSO, or what stands in path */
	struct file_key key;
	char path[NAMER_MAX_PATH];
	char fetched[PATH_MAX];		/* "": nothing */
	uint32_t nr;
	uint64_t frames[MAX_NAMED];
};

/*
 * the answer: one of these for each frame, as far as there is room, with its strings and their NULs behind
 * it
 */
struct named_frame {
	uint64_t frame, offset, vaddr, function_vaddr;
	bool has_vaddr, has_function, is_jit;
	bool lacks_names;			/* of its file a debuginfod might have more */
	uint16_t symbol_bytes, raw_bytes;	/* raw: of a frame in no file, the region. 0: none */
};
#define MAX_NAME_BYTES 16384	/* longer ones end there */

/* for struct workers; arg: struct frame_names */
worker_fn namer_work;

#endif
