/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of frames: the function, and the file or kernel module that it belongs to. */
#ifndef EHPERF_REPORT_FRAME_NAME_H
#define EHPERF_REPORT_FRAME_NAME_H

#include <stdint.h>
#include <stdio.h>

#include "process/jit_processes.h"
#include "process/kallsyms.h"
#include "report/escape.h"
#include "unwind/modules.h"

struct frame_name {
	const char *symbol;		/* for people; NULL: not known */
	/* as in the file, with version and suffixes; NULL: the same, or in no file */
	const char *raw_symbol;
	const char *module;		/* path, or a kernel module's name; NULL: none */
	const struct module *file;	/* NULL: the kernel, or anonymous memory */
	uint64_t offset;		/* from the symbol, or from the function's start */
	bool has_vaddr, has_function;	/* whether the next two are known */
	uint64_t vaddr;			/* of the pc, by the file's headers */
	uint64_t function_vaddr;	/* of the function's start */
	uint64_t file_offset, address;
	bool is_jit;			/* the name is from the process's runtime */
	/* no frame, but the mark, named "[...]", of this many that were left out; 0: a frame */
	uint64_t cut;
};

/* where names come from */
struct frame_names {
	struct modules *modules;
	struct jit_processes *jit;		/* NULL: frames in anonymous memory have no names */
	const struct kallsyms *kallsyms;	/* NULL: kernel frames have no names */
};

/* names a user frame (bpf/stacks_abi.h) of this process; the strings are valid until the next call */
struct frame_name frame_name_user(const struct frame_names *names, pid_t pid, uint64_t frame);
/* names a kernel frame, an address; kallsyms may be NULL, and owns the strings */
struct frame_name frame_name_kernel(const struct kallsyms *kallsyms, uint64_t address);

/*
 * Prints "symbol"; else "[module+0xVADDR]" with the vaddr of the function's start, or, if that is not known,
 * of the pc; "[module]" if the file cannot be read; "[unknown]" if there is no file. Escaped (report/escape.h)
 */
void frame_name_print(FILE *out, const struct frame_name *name);

#endif
