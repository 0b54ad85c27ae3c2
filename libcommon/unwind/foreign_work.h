/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workers' side of foreign.h: requests, answers, and the work. */
#ifndef EHPERF_UNWIND_FOREIGN_WORK_H
#define EHPERF_UNWIND_FOREIGN_WORK_H

#include <errno.h>

#include "process/worker_child.h"
#include "unwind/foreign.h"

enum foreign_kind {
	FOREIGN_MAPS,
	FOREIGN_FILE,
	FOREIGN_TEXT,
	FOREIGN_STACK,
	FOREIGN_CALL,
	FOREIGN_REGION,
	FOREIGN_TABLE,
	FOREIGN_CODE,
};

#define FOREIGN_MAX_PATH 4300

/* Each request begins with this. */
struct foreign_about {
	enum foreign_kind kind;
	pid_t pid; /* not with FOREIGN_TABLE, FOREIGN_CODE */
	/*
	 * FOREIGN_CALL, FOREIGN_REGION: whose process it is; another user's may have got its PID
	 * since
	 */
	uint32_t uid;
};

/* only the members that the kind needs are set; it is sent with the used part of the path only */
struct foreign_request {
	struct foreign_about about;
	uint64_t address; /* FOREIGN_TEXT */
	uint32_t bytes;
	uint64_t file_offset;
	struct proc_mapping mapping; /* FOREIGN_FILE; its path is the file's */
	struct mapped_file file;
	struct file_key key;
	char path[FOREIGN_MAX_PATH];
};

/*
 * Each answer begins with this. Then follow, for files: struct file_key; text: the bytes; tables:
 * compiled_write()'s bytes
 */
#define FOREIGN_GONE -ESTALE /* of memory that was opened before: nobody uses it any more */
struct foreign_answer {
	int error;
	uint32_t nr;
	pid_t tid; /* struct proc_maps' */
	uint32_t pad;
};
_Static_assert(sizeof(struct foreign_answer) % _Alignof(uint64_t) == 0,
	       "struct foreign_mapping lies behind it");

/* FOREIGN_MAPS: behind the answer, nr of these, then the paths */
struct foreign_mapping {
	struct proc_mapping mapping;
	uint32_t path; /* offset in the paths */
};

/*
 * FOREIGN_CALL: the used part of the question is sent. Workers are forked: what they run is where
 * it is here. Behind the answer's head, work()'s
 */
struct foreign_job {
	struct foreign_about about;
	foreign_fn *work;
	_Alignas(16) uint8_t question[FOREIGN_QUESTION_BYTES];
};

/* FOREIGN_STACK; behind the answer's head, .stacks and then the bytes */
struct foreign_stacks {
	struct foreign_about about;
	uint64_t nr, most;
	struct foreign_stack stacks[FOREIGN_STACKS];
};

/*
 * FOREIGN_REGION; behind the answer's head, the hash of the bytes, and without an error
 * compiled_write()'s
 */
struct foreign_region {
	struct foreign_about about;
	uint64_t address, hash;
	uint32_t bytes;
};

/*
 * for struct workers: of those that read, and those that parse what foreign_open() has opened for
 * them
 */
worker_fn foreign_read, foreign_parse;
worker_open_fn foreign_open;

/*
 * foreign_read_text() in the calling process: from memory, or if that cannot be read, from the file
 */
uint32_t foreign_text_here(const struct foreign_text *text, void *to, uint32_t bytes);

/* foreign_read_region() in the calling process */
int foreign_region_here(const struct foreign_region *region, const struct process_memory *memory,
			uint64_t *hash, struct unwind_table *table);

/* The mappings in an answer, which may be anything. 0, -EBADMSG or -ENOMEM */
int foreign_unpack_maps(struct proc_maps *maps, const void *answer, size_t bytes);

#endif
