/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool's run: how long it lasts, the command it measures, where its output goes, and how it ends.
 * Errors end the program with a message.
 *
 *   run_open
 *   run_get_ready     starts the command, which waits at its gate; then handles signals, and opens
 *                     the output file
 *   (attach)
 *   run_doing         what is measured, in words; may be left out
 *   run_measure       says that it begins, lets the command go, and calls the parts until the run
 *                     is over
 *   (detach, report)
 *   run_flush_output  before the summary is printed to stderr, and after each part of an output
 *                     that grows
 *   run_finish_output
 *   run_close         waits for the command; the tool's exit status
 */
#ifndef EHPERF_RUN_RUN_H
#define EHPERF_RUN_RUN_H

#include <argp.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "live/server.h"
#include "report/losses.h"
#include "run/command.h"
#include "run/task_filter.h"

/* there is no such command; it cannot be executed */
enum { EXIT_NO_COMMAND = 127, EXIT_NOT_EXECUTABLE = 126 };

struct bpf_object;

/* one output */
struct run_output {
	const char *name; /* -o's; NULL: a file descriptor */
	int fd;           /* 0: standard output, or --output-fd's */
	bool json;        /* the run prints JSON's first line */
};
#define MAX_RUN_OUTPUTS 8

struct run_options {
	uint64_t duration_ns;  /* 0: until a signal, or the command's end */
	uint64_t interval_ns;  /* 0: none */
	bool every;            /* --every gave it: reports may have files of their own */
	uint64_t nr_intervals; /* the run ends after this many; 0: no limit */
	char **command;        /* NULL: none */
	bool as_user;          /* run the command as this user: */
	struct command_user user;
	struct task_filter tasks; /* which tasks are measured */
	struct run_output outputs[MAX_RUN_OUTPUTS];
	size_t nr_outputs; /* how many -o were given; 0: outputs[0] is the only output */
	int output_fd;     /* --output-fd's; 0: none */
	bool kill; /* if the run ends before the command, end the command and its descendants */
	char *command_line; /* the tool's, for reports */
	bool live;          /* a view in the terminal: nothing else may read or write there */
	bool serve;         /* a view in a browser: */
	struct server_address serve_at;
	bool quiet;
	int verbose; /* 1: our own detail, 2: libbpf's messages too */
};

/* What runs while a run lasts. Any of the functions may be NULL; they return 0 or -errno. */
struct run_part {
	const char *doing; /* if a function fails, the tool ends with "cannot DOING: ..." */
	/* called several times a second, and soon after one of fds becomes readable */
	int (*work)(void *arg);
	int (*interval)(void *arg, bool last);       /* called at the end of each interval */
	int (*progress)(void *arg, uint64_t *count); /* for the progress line: the count so far, */
	const char *counted;                         /* and what is counted: "samples" */
	void *arg;
	const int *fds;
	size_t nr_fds;
};

#define MAX_RUN_PARTS 8
#define MAX_RUN_FDS   8

struct run {
	const struct run_options *options;
	struct bpf_object *object; /* with the filters of bpf/task.bpf.h; NULL until there is one */
	FILE *out; /* from run_get_ready() on: the output in use, at first outputs[0] */
	struct command command; /* .pid is -1 where there is none */
	/*
	 * when the run started (CLOCK_MONOTONIC), and how long it counted, which is set at its end
	 */
	double started, seconds;
	/*
	 * when counting began: `started`, or earlier, by run_counts_from_now(); 0: it has not begun
	 */
	double counted_from;
	uint64_t intervals;         /* how many have ended */
	uint64_t intervals_passed;  /* that many times their length: a late one is several */
	uint64_t interval_ended_ns; /* CLOCK_MONOTONIC: when the last one ended */
	/*
	 * JSON's first line, to which a tool may add what it measures ("frequency_hz"), and the
	 * filters in it
	 */
	struct json_object *start, *filters;
	/* private */
	FILE *outs[MAX_RUN_OUTPUTS];
	size_t output; /* the number of the one in use */
	bool signalled;
	int cut_by;     /* the signal that cut the last report */
	bool unwritten; /* one of the outputs could not be written */
	bool outlived;  /* the command still ran when the run was over */
	char doing[96];
	bool on_terminal;
	bool over;            /* by run_end() */
	bool hurries;         /* by run_hurry() */
	uint64_t interval_ns; /* 0: none */
	double next_interval, next_progress;
	struct run_part parts[MAX_RUN_PARTS];
	size_t nr_parts;
};

/* Counting begins, or ends, now: for tools that count outside of run_measure(). */
void run_counts_from_now(struct run *run);
void run_counted_until_now(struct run *run);

void run_open(struct run *run, const struct run_options *options);
void run_get_ready(struct run *run);

/* Adds a part. Parts run in the order of adding. part->fds must outlive the run. */
void run_add(struct run *run, const struct run_part *part);

/* What is measured, for the line on stderr when it begins: "Counting forks" */
void run_doing(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* While it lasts: intervals are so long from now on, the present one, too. */
void run_set_interval(struct run *run, uint64_t ns);
/* While it lasts: the run is over. */
void run_end(struct run *run);
/* For parts: there is more to do now, so that the next round waits for nothing. */
void run_hurry(struct run *run);

/*
 * Returns when the duration or the last interval is over, a signal has come, the command has ended,
 * or the output has no reader any more. When all processes of -p or threads of -t have ended, says
 * so and returns.
 */
void run_measure(struct run *run);

/* How many outputs there are */
size_t run_nr_outputs(const struct run_options *options);
/* From now on, run->out is the output with this number. */
void run_use_output(struct run *run, size_t number);

/* Does each report of the output in use go to its own file (stack_reports.c)? */
bool run_reports_apart(const struct run *run);
/* Would it, with this name? */
bool run_names_apart(const struct run_options *options, const char *name);
/* Until a report begins in a file of its own, run->out goes nowhere. */
void run_report_to_none(struct run *run);

/*
 * Flushes the output in use. What was written so far is complete: a file gets its final name.
 * run_finish_output() reports errors.
 */
void run_flush_output(struct run *run);
/*
 * Flushes and closes run->out after everything was written. Call it for outputs[0] last: it ends
 * the tool if one of the outputs could not be written, and the others are whole then.
 */
void run_finish_output(struct run *run);
/* Prints a line on standard error for each loss that matters; taken: how many are in the results */
void run_say_losses(const struct loss *losses, size_t nr, uint64_t taken);

/*
 * Waits for the command. The exit status. With --kill, run->object must still follow forks: their
 * processes are ended, too.
 */
int run_close(struct run *run);

/* ---- its options ---- */

/*
 * Output contains kernel addresses and other users' command lines: only its owner may read it, as
 * perf's.
 */
#define RUN_FILE_MODE 0600

/*
 * -o's argument: a file, "-", or the name of a descriptor that is open, as /dev/stdout and
 * /dev/fd/3. Ends the tool with a message if it was given before.
 */
void run_take_output(struct argp_state *state, struct run_options *options, const char *name);

/*
 * For an argp parser's ARGP_KEY_ARG: takes "-- COMMAND [ARG...]". False: arg is another argument.
 * Needs ARGP_IN_ORDER, because otherwise arguments before -- cannot be distinguished from those
 * after it.
 */
bool run_take_command(struct argp_state *state, struct run_options *options);
/* For ARGP_KEY_END: there must be a command after --, and no -p or -t with it. */
void run_check_command(struct argp_state *state, const struct run_options *options);

/*
 * Parses a tool's command line by its own options and the shared ones, and checks what can be
 * checked before loading. own->args_doc and own->doc are the whole tool's.
 */
void run_parse(const struct argp *own, void *input, const struct argp *shared, void *shared_input,
	       int argc, char **argv, struct run_options *options);

#endif
