/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a frame: the function, and the file or kernel module that it belongs to.
 * frame_names.h finds the names.
 */
#ifndef EHPERF_REPORT_FRAME_NAME_H
#define EHPERF_REPORT_FRAME_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "process/kernel_symbols.h"
#include "report/escape.h"
#include "runtimes/jit/jit_processes.h"
#include "stacks_abi.h"
#include "unwind/modules.h"

struct frame_name {
	const char *symbol; /* for people; NULL: not known */
	/* as in the file, with version and suffixes; NULL: the same, or in no file */
	const char *raw_symbol;
	const char *module;        /* path, or a kernel module's name; NULL: none */
	const struct module *file; /* NULL: the kernel, or anonymous memory */
	/* what maps calls the memory of a frame in no file without a symbol; NULL: not known */
	const char *region;
	uint64_t offset;              /* from the symbol, or from the function's start */
	bool has_vaddr, has_function; /* whether the next two are known */
	uint64_t vaddr;               /* of the pc, by the file's headers */
	uint64_t function_vaddr;      /* of the function's start */
	uint64_t file_offset, address;
	bool is_jit;    /* the name is from the process's runtime */
	bool schedules; /* of the kernel's scheduler: who waits is in its caller */
	bool inlined;   /* a function that the compiler has put into the next name's */
	/*
	 * a function of this runtime (struct runtime's name), whose source and line are always
	 * looked up
	 */
	const char *runtime;
	const char *source; /* file; NULL: not known, or not asked for */
	unsigned line;      /* 0: not known, or not asked for */
	/* do not print the source: the name has a class, and lines were not asked for */
	bool unsaid;
	/* print only the last part of the source file's path: lines were not asked for */
	bool brief;
	/*
	 * 0: a frame. Else a mark: how many frames ("[...]") or stacks ("[other stacks]") were left
	 * out; 1 for stacks for which there was no room
	 */
	uint64_t cut;
};

/* Runtimes' frames have both bits, and are neither. */
static inline bool frame_in_no_file(uint64_t frame)
{
	return frame & FRAME_ADDRESS && !FRAME_IS_RUNTIME(frame);
}

static inline bool any_frame_in_no_file(const uint64_t *frames, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (frame_in_no_file(frames[i]))
			return true;
	return false;
}

static inline bool frame_is_by_fp(uint64_t frame)
{
	return frame & FRAME_BY_FP && !FRAME_IS_RUNTIME(frame);
}

struct namer;
struct recorded_names;
struct runtime_names;

/* where names come from */
struct frame_names {
	struct modules *modules;
	struct namer *namer; /* finds the names of user frames; NULL: they are found here */
	const struct runtime_names *runtimes; /* NULL: frames of runtimes have no names */
	struct jit_processes *jit;            /* NULL: frames in anonymous memory have no names */
	struct kernel_symbols *kernel;        /* NULL: kernel frames have no names */
	/* names of a recording, which are used instead; NULL: not a recording */
	const struct recorded_names *recorded;
	bool inlined, lines; /* name inlined functions, too; and lines of source */
};

#define MAX_FRAME_NAMES MAX_SOURCE_PLACES

/*
 * Names a user frame (bpf/stacks_abi.h) of this process by what this process reads itself: for
 * namer.h's worker. Not for frames of runtimes and FRAME_CUT(). The strings are valid until the
 * next call
 */
struct frame_name frame_name_find(const struct frame_names *names, pid_t pid, uint64_t frame);

/*
 * Prints "symbol", and of a kernel module or BPF program "symbol [module]"; else "[module+0xVADDR]"
 * with the vaddr of the function's start, or, if that is not known, of the pc; "[module]" if the
 * file cannot be read; "[Python]"; if there is no file, the region's name, or "[unknown]"; then "
 * (file:line)", if a line is known, or for a Python function " (file)". Escaped (report/escape.h)
 */
void frame_name_print(FILE *out, const struct frame_name *name);
/* the last part of a file's path; all of a path that ends in '/' */
const char *frame_base_name(const char *path);
/*
 * Prints "[Python]", or whatever the language of the name's runtime is; "[unknown]": of a later
 * version's, in a recording
 */
void frame_name_print_language(FILE *out, const struct frame_name *name);

#endif
