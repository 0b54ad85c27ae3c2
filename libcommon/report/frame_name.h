/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame by its name: what function of which file, or of the kernel, it is in. */
#ifndef EHPERF_REPORT_FRAME_NAME_H
#define EHPERF_REPORT_FRAME_NAME_H

#include <stdint.h>
#include <stdio.h>

#include "process/kallsyms.h"
#include "unwind/modules.h"

struct frame_name {
	const char *symbol;		/* NULL: none is known */
	const char *module;		/* path, or a kernel module's name; NULL: none */
	const struct module *file;	/* NULL: the kernel, or memory that is no file's */
	uint64_t offset;		/* from the symbol, or from the function's start */
	uint64_t function;		/* vaddr of the function's start, 0: not known */
	uint64_t file_offset, address;
};

/* a frame as bpf/stacks_abi.h has it; the strings are the modules' */
struct frame_name frame_name_user(struct modules *modules, uint64_t frame);
/* an address; kallsyms: NULL where there are no names. The strings are its */
struct frame_name frame_name_kernel(const struct kallsyms *kallsyms, uint64_t address);

/* "symbol", "[module+0xVADDR]" or "[unknown]", escaped as below */
void frame_name_print(FILE *out, const struct frame_name *name);

/* Folded output is split at ';' and line ends: a name has neither then. */
void print_escaped(FILE *out, const char *text);

#endif
