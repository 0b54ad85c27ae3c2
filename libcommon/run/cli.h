/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on stderr, and the end of a tool: exit status 0 for done, 1 for failed, 2 for wrong
 * usage.
 */
#ifndef EHPERF_RUN_CLI_H
#define EHPERF_RUN_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EXIT_USAGE = 2 };

#ifndef EHPERF_VERSION
#define EHPERF_VERSION "0"
#endif

/*
 * To be called first. Makes argp exit with EXIT_USAGE. At exit, checks standard output for errors,
 * and removes an unfinished output file.
 */
void cli_init(void);
/* In a child that becomes another program: what cli_init() has changed is as it was. */
void cli_restore_signals(void);

/*
 * -h, --help, --usage and --version, for a tool's argp_children; to be used with ARGP_NO_HELP,
 * because argp's own --help has no -h.
 */
extern const struct argp cli_help_argp;

/* the groups of options in --help, each with a heading */
enum { OF_MEASURE = 1, OF_TASKS, OF_OUTPUT, OF_NAMES, OF_LIMITS };

/* "tool: message\n"; names in it are escaped (report/escape.h) */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* cli_warn(), and exits with this status */
void cli_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* error: 0 or -errno. Dies if it is not 0: "cannot DOING: STRERROR" */
void cli_check(int error, const char *doing);

/* Flushes the output. cli_finish() reports errors. */
void cli_flush(FILE *file);

/*
 * Flushes the output, and closes it unless it is stdout or stderr. If writing failed, removes
 * unfinished files, and returns false, after a message (a full disk), or without one (a broken
 * pipe).
 */
bool cli_close(FILE *file, const char *name);
/* cli_close(); if writing failed, exits with 1. */
void cli_finish(FILE *file, const char *name);

/* the name of an output file; NULL if it is standard output */
const char *cli_output_name(const char *name);

/* ---- values of options; false if the text as a whole is not such a value ---- */

bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* "5", "0.5", "10ms", "2s", "3us", "1ns", "2m"; a bare number is in units of unit_ns */
bool cli_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns);

struct id_list {
	pid_t *ids;
	size_t nr;
};

/* Appends "812,813" to the list. */
bool cli_parse_ids(const char *text, struct id_list *list);

#endif
