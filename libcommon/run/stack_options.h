/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that all stack tools share. */
#ifndef EHPERF_RUN_STACK_OPTIONS_H
#define EHPERF_RUN_STACK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/stack_report.h"
#include "run/cli.h"
#include "run/run.h"
#include "stacks_abi.h"

/* where debug files are looked for, and how names are shown */
#define MAX_DEBUG_DIRECTORIES 16
struct naming_options {
	const char *directories[MAX_DEBUG_DIRECTORIES];
	size_t nr_directories;
	bool debuginfod;		/* the option was given, and $DEBUGINFOD_URLS is set */
	bool no_demangle;
	bool native_frames;		/* show the interpreter's own frames, too, where those of a runtime stand for them */
	bool inlined, lines;
};

/* what following processes may take, in bytes: of our own processes' memory, and of the kernel's */
struct memory_limits {
	uint64_t user, kernel;
};
#define MEMORY_LIMITS_DEFAULT { .user = 512 << 20, .kernel = 512 << 20 }

/* which stacks are taken, how much of them is kept, and how they are named */
struct stacks_wanted {
	bool only_user, only_kernel;
	uint32_t max_depth;		/* user frames of a stack */
	uint32_t max_stacks;		/* room for different stacks in the kernel */
	bool others;			/* of processes, too, that are not measured: no option, but the tool's */
	bool later;			/* their values may come much later: likewise the tool's */
	bool runtimes;			/* with the frames of interpreters */
	struct naming_options naming;
	struct memory_limits memory;
};

#define STACKS_WANTED_DEFAULT { .max_depth = DEFAULT_DEPTH, .max_stacks = 65536, .memory = MEMORY_LIMITS_DEFAULT }

/* what run.outputs[] gets */
struct stack_output {
	const struct stack_format *format;	/* NULL: it is the tool's own, by its ending */
	const char *ending;		/* of the tool's own that the file has, or NULL */
};

struct stack_options {
	struct run_options run;
	struct stacks_wanted wanted;
	struct stack_output outputs[MAX_RUN_OUTPUTS];	/* as many as run_nr_outputs() */
	const struct stack_format *asked;	/* by -f or -j; NULL: none */
	size_t top;			/* as struct stack_writer has it */
	uint64_t max_report;		/* bytes */
	bool idle;			/* waits of idle threads, too: report/idle.h */
	bool delimiter, annotate;	/* as struct stack_writer has them */
	/*
	 * Of a tool whose report is no list of stacks: the endings of its own formats' files, up to NULL, and all in words. It
	 * has text, folded and JSON besides, its own -o, and no option of such lists.
	 */
	const char *const *endings;
	const char *endings_named;
};

#define STACK_OPTIONS_DEFAULT { .wanted = STACKS_WANTED_DEFAULT, .wanted.runtimes = true, .max_report = 100 << 20 }

/* for the tool's own argp */
#define STACK_ARGS_DOC "[DURATION] [-- COMMAND [ARG...]]"

/*
 * Parses the command line of a stack tool; `tool` has its own options. An error ends the program with a
 * message: EXIT_USAGE, or EXIT_FAILURE for a process that does not exist.
 */
void stack_options_parse(struct stack_options *options, const struct argp *tool, void *tool_options, int argc,
			 char **argv);

#endif
