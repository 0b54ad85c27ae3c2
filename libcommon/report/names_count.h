/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts how many user frames have names, and which process has most JIT frames without names. */
#ifndef EHPERF_REPORT_NAMES_COUNT_H
#define EHPERF_REPORT_NAMES_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/frame_name.h"
#include "report/stack_entry.h"
#include "unwind/runtime.h"

struct names_count {
	uint64_t frames, named; /* user frames, weighted by the counts of their stacks */
	uint64_t jit_unnamed; /* unnamed frames in no file, of the process that has most of them: */
	uint32_t jit_pid;
	char jit_comm[16];
	const char *jit_cure; /* what gives them names; NULL: nothing that is known of */
	uint64_t gone; /* unnamed frames of files that were gone before their names were read, */
	const char *gone_path; /* as this one was */
	/* struct placed_stacks'; the caller's to fill in */
	struct runtime_calls calls[MAX_RUNTIMES];
};

/* Adds them to the count. 0 or -ENOMEM */
int names_count(struct names_count *count, const struct frame_names *names,
		const struct stack_entry *entries, size_t nr);

/*
 * Print ", 96.4 % of frames named", of runtimes also ", 99.97 % of CPython's eval frames", and a
 * line on what to do about JIT code without names, and one on files that were gone. Nothing without
 * frames
 */
void names_count_say(FILE *out, const struct names_count *count);
void names_count_print_causes(FILE *out, const char *tool, const struct names_count *count);

#endif
