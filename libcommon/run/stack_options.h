/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that all stack tools share. */
#ifndef EHPERF_RUN_STACK_OPTIONS_H
#define EHPERF_RUN_STACK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_limit.h"
#include "report/stack_report.h"
#include "run/cli.h"
#include "run/run.h"
#include "stacks_abi.h"

/* where to look for debug files, and how to show names */
#define MAX_DEBUG_DIRECTORIES 16
struct naming_options {
	const char *directories[MAX_DEBUG_DIRECTORIES];
	size_t nr_directories;
	bool no_debuginfod; /* else the servers of $DEBUGINFOD_URLS are asked, if that is set */
	bool no_demangle;
	/* show an interpreter's own frames, too, beside the runtime's frames that replace them */
	bool native_frames;
	bool inlined, lines;
};

/* how many bytes following processes may take, in the tool's processes and in the kernel */
struct memory_limits {
	uint64_t user, kernel;
};
#define MEMORY_LIMITS_DEFAULT                                                \
	{                                                                    \
		.user = MEMORY_LIMIT_DEFAULT, .kernel = MEMORY_LIMIT_DEFAULT \
	}

/* which stacks are taken, how much of them is kept, and how they are named */
struct stacks_wanted {
	bool only_user, only_kernel;
	uint32_t max_depth;  /* user frames of a stack */
	uint32_t max_stacks; /* room for different stacks in the kernel */
	/* also stacks of processes that are not measured; set by the tool, not by an option */
	bool others;
	/*
	 * values may come some reports later than their stacks; set by the tool, not by an option
	 */
	bool later;
	bool may_be_nmi; /* stacks may be taken in an NMI; set by the tool, not by an option */
	bool runtimes;   /* with the frames of interpreters */
	struct naming_options naming;
	struct memory_limits memory;
};

#define STACKS_WANTED_DEFAULT                                                                    \
	{                                                                                        \
		.max_depth = DEFAULT_DEPTH, .max_stacks = 65536, .memory = MEMORY_LIMITS_DEFAULT \
	}

/* what run.outputs[] gets */
struct stack_output {
	const struct stack_format *format; /* NULL: the tool's own format with this ending: */
	const char *ending;                /* NULL: not the tool's own format */
};

struct stack_options {
	struct run_options run;
	struct stacks_wanted wanted;
	struct stack_output outputs[MAX_RUN_OUTPUTS]; /* as many as run_nr_outputs() */
	const struct stack_format *asked;             /* by -f or -j; NULL: none */
	size_t top;                                   /* as in struct stack_writer */
	bool sorted;                                  /* --sort was given */
	bool by_total;                                /* as in struct stack_writer */
	uint64_t max_report;                          /* bytes */
	bool idle;                /* waits of idle threads, too: report/idle.h */
	bool delimiter, annotate; /* as in struct stack_writer */
	/*
	 * For a tool whose report is not a list of stacks: file name endings of its own formats, up
	 * to NULL; and all its endings as text. It also has text, folded and JSON, its own -o, and
	 * none of list_options[].
	 */
	const char *const *endings;
	const char *endings_named;
};

#define STACK_OPTIONS_DEFAULT                                                                     \
	{                                                                                         \
		.wanted = STACKS_WANTED_DEFAULT, .wanted.runtimes = true, .max_report = 100 << 20 \
	}

/*
 * The format that the ending of a file's name stands for. False: it is none of the tool's, or the
 * name has no ending
 */
bool stack_options_output(const struct stack_options *options, const char *name,
			  struct stack_output *output);

/* for the tool's own argp */
#define STACK_ARGS_DOC "[DURATION] [-- COMMAND [ARG...]]"

/*
 * Parses the command line of a stack tool; `tool` has its own options. An error ends the program
 * with a message: EXIT_USAGE, or EXIT_FAILURE for a process that does not exist.
 */
void stack_options_parse(struct stack_options *options, const struct argp *tool, void *tool_options,
			 int argc, char **argv);

#endif
