/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool's run: how long it lasts, the command it measures, where its output goes, and how it ends. Any tool has
 * one, and what goes wrong ends the program with a message:
 *
 *   run_open          opens the output file
 *   run_get_ready     starts the command, which waits at its gate, and takes signals from now on
 *   (attach)
 *   run_measure       lets the command go, and calls the parts until the run is over
 *   (detach, report)
 *   run_finish_output
 *   run_close         waits for the command; the tool's exit status
 */
#ifndef EHPERF_RUN_RUN_H
#define EHPERF_RUN_RUN_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/losses.h"
#include "run/command.h"
#include "run/task_filter.h"

struct run_options {
	uint64_t duration_ns;		/* 0: until a signal, or the command's end */
	uint64_t interval_ns;		/* 0: none */
	uint64_t nr_intervals;		/* the run is over after so many; 0: no limit */
	char **command;			/* NULL: none */
	struct task_filter tasks;	/* who is measured */
	const char *output;		/* NULL: standard output */
	bool quiet, verbose;
};

/* Who works while a run lasts. Any of the functions may be NULL; they return 0 or -errno. */
struct run_part {
	const char *doing;		/* when one failed, "cannot DOING" is said */
	int (*work)(void *arg);		/* several times a second, and soon when one of fds is readable */
	int (*interval)(void *arg, bool last);	/* at the end of each interval */
	int (*progress)(void *arg, uint64_t *count);	/* how much there is by now, */
	const char *counted;		/* of these: "samples" */
	void *arg;
	const int *fds;			/* urgent when readable */
	size_t nr_fds;
};

#define MAX_RUN_PARTS	4
#define MAX_RUN_FDS	8

struct run {
	const struct run_options *options;
	FILE *out;
	struct command command;		/* .pid is -1 where there is none */
	double started, seconds;	/* CLOCK_MONOTONIC; seconds: how long it lasted, once it is over */
	uint64_t intervals;		/* that are over */
	/* private */
	double next_interval, next_progress;
	int signal_fd;
	bool signalled;
	struct run_part parts[MAX_RUN_PARTS];
	size_t nr_parts;
};

void run_open(struct run *run, const struct run_options *options);
void run_get_ready(struct run *run);

/* They work in the order of adding. part->fds must stay. */
void run_add(struct run *run, const struct run_part *part);

/* Returns when the duration or all intervals are over, a signal came or the command has ended. */
void run_measure(struct run *run);

/* All has been written to run->out: a full disk is an error. */
void run_finish_output(struct run *run);
/* on standard error, a line for each that there is */
void run_say_losses(const struct loss *losses, size_t nr);

int run_close(struct run *run);

/* ---- its options ---- */

/*
 * For an argp parser's ARGP_KEY_ARG: takes "-- COMMAND [ARG...]". False: arg is another argument. Needs
 * ARGP_IN_ORDER: only so is what comes before -- told from what comes after it.
 */
bool run_take_command(struct argp_state *state, struct run_options *options);
/* for ARGP_KEY_END: a command is there after --, and not with -p or -t */
void run_check_command(struct argp_state *state, const struct run_options *options);

/*
 * Parses a tool's command line by its own options and those of a child, and checks what can be checked before
 * anything is loaded. own->args_doc and own->doc are the whole tool's.
 */
void run_parse(const struct argp *own, void *input, const struct argp *shared, void *shared_input, int argc, char **argv,
	       struct run_options *options);

#endif
