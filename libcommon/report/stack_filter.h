/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stacks match a regular expression: by their thread, process or functions. */
#ifndef EHPERF_REPORT_STACK_FILTER_H
#define EHPERF_REPORT_STACK_FILTER_H

#include <regex.h>
#include <stddef.h>

#include "report/stack_entry.h"
#include "report/stack_writer.h"

struct stack_pattern {
	const char *text;
	uint32_t pid; /* not 0: only this process's stacks match, whatever the text is */
	regex_t compiled;
};

/*
 * Compiles an extended regular expression for names that others choose: without back references,
 * which could take for ever. 0, or -EINVAL, and what is wrong with it
 */
int pattern_compile(regex_t *compiled, const char *text, char *wrong, size_t bytes);

/*
 * Keeps those of the entries, in their order, of which one of these matches: the thread's name or
 * ID, the process's ID, command line or cgroup, or a frame's name as in folded output, also of the
 * waker. off_cpu: as struct stack_labels'. 0 or -ENOMEM
 */
int stack_filter(const struct stack_writer *writer, bool off_cpu,
		 const struct stack_pattern *pattern, struct stack_entry *entries, size_t *nr);

#endif
