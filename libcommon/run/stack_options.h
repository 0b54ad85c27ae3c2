/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that all stack tools share, as a child of the tool's own argp parser. */
#ifndef EHPERF_RUN_STACK_OPTIONS_H
#define EHPERF_RUN_STACK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/cli.h"
#include "process/cpu_set.h"
#include "report/stack_report.h"
#include "stacks_abi.h"

struct stack_options {
	struct id_list pids, tids;
	bool only_user_threads, only_kernel_threads;
	bool only_user_stacks, only_kernel_stacks;
	struct cpu_set cpus;		/* as -C says; none: all */
	const char *comm;		/* NULL: any */
	uint64_t cgroup;		/* its ID; 0: any */
	enum report_format format;
	bool format_named;
	bool delimiter, annotate;
	const char *output;		/* NULL: standard output */
	bool quiet, verbose;
	uint32_t max_depth, max_stacks;
	uint64_t duration_ns;		/* 0: until a signal, or the command's end */
	char **command;			/* NULL: none */
};

#define STACK_OPTIONS_DEFAULT { .max_depth = MAX_DEPTH, .max_stacks = 65536 }

/*
 * input: struct stack_options *. Wrong values end the program with a message and EXIT_USAGE. To be parsed
 * with ARGP_IN_ORDER: only so is a DURATION before -- told from what comes after it.
 */
extern const struct argp stack_argp;

/* for the tool's own argp */
#define STACK_ARGS_DOC "[DURATION] [-- COMMAND [ARG...]]"

#endif
