/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A language's runtime: functions that find the language's functions in the stacks of its programs,
 * and name them. A folder of libcommon/runtimes/ implements them for each. This layer, and those
 * above it, call them for each runtime of the table.
 */
#ifndef EHPERF_UNWIND_RUNTIME_H
#define EHPERF_UNWIND_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/elf_file.h"
#include "processes_abi.h"
#include "table/slabs.h"

#define MAX_RUNTIMES        4
#define RUNTIME_IMAGE_BYTES 128

struct foreign;
struct modules;
struct runtime;

/* a process that runs it */
struct runtime_process {
	const struct runtime *runtime; /* NULL: the process does not run it */
	uint32_t module;               /* that holds it */
	bool is_read;      /* the module is compiled, and .describe() was called since */
	const void *image; /* what the module says; NULL: nothing */
	void *own;         /* .process_new()'s; NULL: nothing */
};

/* a function at a place in its source */
struct runtime_function {
	const char *name, *file; /* file NULL: not known */
	unsigned line;           /* 0: not known */
};

/* calls of a runtime's interpreter, and those that were replaced by functions with names */
struct runtime_calls {
	uint64_t all, named;
};

struct runtime {
	const char *name;             /* in JSON */
	const char *language;         /* of its functions */
	const char *implementation;   /* of the language */
	uint64_t frames, frames_mask; /* what is in these upper bits of its frames (stacks_abi.h) */
	bool shows_files; /* functions' files are always printed: their names do not say a class */

	/*
	 * Reads what a file that holds the runtime says of it, into RUNTIME_IMAGE_BYTES; in a
	 * worker, mostly. 0; -ENOENT: the file does not hold it; -ENOTSUP: a version or build that
	 * is not known; -ENOMEM; -EBADMSG
	 */
	int (*read_image)(void *image, struct elf_file *file);

	/*
	 * Is this the path of a file that holds the runtime? Set it for a runtime that generates
	 * code: it must be known before the file is compiled. NULL: the image says it
	 */
	bool (*is_file)(const char *path);
	/* *own is what is known of a process. 0 or -errno. NULL: nothing */
	int (*process_new)(void **own, struct slabs *slabs, pid_t pid);
	/* Frees *own. Walks may still read what .code_module() has returned. */
	void (*process_free)(void *own);
	/*
	 * The file is compiled, and mapped so that its offset 0 would lie at `text`. Says in *says
	 * what the kernel has to know of the process. Called for each new list, and once its file
	 * is compiled; walks may already read *says
	 */
	void (*describe)(const struct runtime_process *process, struct published_runtimes *says,
			 uint64_t text);

	/* ---- of a runtime that generates code; NULL: it does not ---- */

	/*
	 * the struct published_module of the process's anonymous memory: .pending asks for rows of
	 * code that has none. Offsets are by anonymous_offset() (mapping_list.h)
	 */
	loc_t (*code_module)(const void *own);
	/*
	 * A raw sample of this time has arrived, with this pc and stack. Checks whether the code
	 * that these may point into is still the same, and makes rows for new code. Returns a
	 * number, not 0, that changes when other code comes to an address
	 */
	uint32_t (*look)(void *own, struct foreign *foreign, uint64_t time_ns, uint64_t pc,
			 const uint64_t *words, size_t nr);
	/* A walk needs rows for this address: makes them. false: nothing new was made */
	bool (*want)(void *own, struct foreign *foreign, uint64_t pc);

	/* ---- the names of functions, of all processes ---- */

	void *(*names_new)(void); /* NULL: no memory */
	void (*names_free)(void *names);
	/*
	 * A stack has arrived. Replaces what the kernel and raw samples have recorded by frames
	 * that have the functions' numbers. Reads, or asks for, functions that are not known: the
	 * process may end, or free them, before the report. Returns the number of frames now
	 */
	uint32_t (*see)(void *names, const struct runtime_process *process, struct foreign *foreign,
			pid_t pid, uint64_t *frames, uint32_t nr);
	/*
	 * Takes answers that have arrived, and asks for what else is wanted. NULL: answers never
	 * come later
	 */
	void (*follow)(void *names, struct foreign *foreign);
	/* Waits for all answers, so long at most. NULL: the same */
	void (*settle)(void *names, struct foreign *foreign, int ms);
	/* A stack that is kept has this frame, which .see() has made. */
	void (*use)(void *names, uint64_t frame);
	/*
	 * Forgets the functions that were not seen, nor used, since the last call. Their numbers
	 * are not used again. NULL: functions are never forgotten
	 */
	void (*forget)(void *names);
	/*
	 * The functions of a frame that .see() has made: those that are inlined first, the
	 * innermost of them at the beginning. Returns how many, at most max; 0: not known. Valid
	 * until the next .see() or .forget()
	 */
	size_t (*find)(const void *names, uint64_t frame, struct runtime_function *functions,
		       size_t max);

	/*
	 * Puts the frames that the kernel has recorded behind the native ones into their places,
	 * and counts the interpreter's calls. is_whole: the native ones go to the root.
	 * keep_native: also shows those calls. Returns how many frames are in `to`, which has room
	 * for nr. `to` NULL: there are no such frames, and only calls are counted. .place NULL: its
	 * frames are in their places
	 */
	uint32_t (*place)(const void *names, const struct modules *modules, const uint64_t *frames,
			  uint32_t nr, bool is_whole, bool keep_native, uint64_t *to,
			  struct runtime_calls *calls);
	const char *calls; /* what these are called; NULL: not counted */
};

/*
 * The runtimes that are looked for, up to NULL; none at first. Set it before the first
 * workers_new(): workers have a copy
 */
extern const struct runtime *const *runtimes;

/* the runtime that a file holds */
struct runtime_file {
	uint32_t number; /* in the table, from 1; 0: it holds none */
	int error;       /* 0, or as .read_image(): why there is no image */
	_Alignas(8) uint8_t image[RUNTIME_IMAGE_BYTES];
};

/* 0 or -ENOMEM */
int runtime_file_read(struct runtime_file *held, struct elf_file *file);
/*
 * Does it name a runtime of the table? What a worker has read may be anything, and so may the
 * image.
 */
bool runtime_file_is_sound(const struct runtime_file *held);
/* the runtime that the file holds, of whatever version; NULL: none */
const struct runtime *runtime_of_file(const struct runtime_file *held);
/* what the file says of the runtime. NULL: it does not hold it, or cannot be read */
const void *runtime_image(const struct runtime_file *held, const struct runtime *runtime);

#endif
