/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame by its name: what function of which file, or of the kernel, it is in. */
#ifndef EHPERF_REPORT_FRAME_NAME_H
#define EHPERF_REPORT_FRAME_NAME_H

#include <stdint.h>
#include <stdio.h>

#include "process/jit_processes.h"
#include "process/kallsyms.h"
#include "unwind/modules.h"

struct frame_name {
	const char *symbol;		/* for people; NULL: none is known */
	const char *raw_symbol;		/* as in the file, with version and suffixes; NULL: the same, or not of a file */
	const char *module;		/* path, or a kernel module's name; NULL: none */
	const struct module *file;	/* NULL: the kernel, or memory that is no file's */
	uint64_t offset;		/* from the symbol, or from the function's start */
	bool has_vaddr, has_function;	/* are the next two known? */
	uint64_t vaddr;			/* the pc's in the file */
	uint64_t function_vaddr;	/* of its function's start */
	uint64_t file_offset, address;
	bool is_jit;			/* the process's runtime names it */
};

/* where names come from */
struct frame_names {
	struct modules *modules;
	struct jit_processes *jit;		/* NULL: code of no file has no names */
	const struct kallsyms *kallsyms;	/* NULL: kernel frames have none */
};

/* a frame of this process, as bpf/stacks_abi.h has it; the strings are valid until the next call */
struct frame_name frame_name_user(const struct frame_names *names, pid_t pid, uint64_t frame);
/* an address; kallsyms: NULL where there are no names. The strings are its */
struct frame_name frame_name_kernel(const struct kallsyms *kallsyms, uint64_t address);

/*
 * "symbol"; without one "[module+0xVADDR]" of the function's start, of the pc where that is not known, "[module]" where
 * the file cannot be read; "[unknown]". Escaped as below
 */
void frame_name_print(FILE *out, const struct frame_name *name);

/* Folded output is split at ';' and line ends: a name has neither then. */
void print_escaped(FILE *out, const char *text);

#endif
