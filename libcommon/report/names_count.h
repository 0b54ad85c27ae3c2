/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many of the user frames have names, and whose do not. */
#ifndef EHPERF_REPORT_NAMES_COUNT_H
#define EHPERF_REPORT_NAMES_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/frame_name.h"
#include "report/stack_entry.h"

struct names_count {
	uint64_t frames, named;		/* user frames, each as often as its stack was counted */
	uint64_t jit_unnamed;		/* those of code of no file, of the process that has most of them */
	uint32_t jit_pid;
	char jit_comm[16];
};

/* Tells names->jit of the processes that run code of no file, and reads what their runtimes wrote. 0 or -ENOMEM */
int names_find_jit(const struct frame_names *names, const struct stack_entry *entries, size_t nr);

/* 0 or -ENOMEM */
int names_count(struct names_count *count, const struct frame_names *names, const struct stack_entry *entries, size_t nr);

/* "96.4 % of frames named", and on a line of its own what to do about the rest; nothing without frames */
void names_count_say(FILE *out, const struct names_count *count);
void names_count_print_cure(FILE *out, const char *tool, const struct names_count *count);

#endif
