/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every tool says and how it ends: messages on stderr, exit 0 done, 1 failed, 2 wrong usage. */
#ifndef EHPERF_RUN_CLI_H
#define EHPERF_RUN_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EXIT_USAGE = 2 };

#ifndef EHPERF_VERSION
#define EHPERF_VERSION "0"
#endif

/* to be called first: wrong usage exits with EXIT_USAGE, standard output is checked at exit */
void cli_init(void);

/* "tool: message\n" */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* the same, and exits with status */
void cli_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* dies where there is an error, 0 or -errno: "cannot DOING: what strerror(3) says of it" */
void cli_check(int error, const char *doing);

/*
 * Flushes what a tool wrote, and closes it unless it is stdout; exits with 1 and a message where that
 * fails (a full disk), without one on a broken pipe.
 */
void cli_finish(FILE *file, const char *name);

/* ---- values of options; false where the whole text is not such a value ---- */

bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* "5", "0.5", "10ms", "2s", "3us", "1ns", "2m"; a bare number is in units of unit_ns */
bool cli_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns);

struct id_list {
	pid_t *ids;
	size_t nr;
};

/* "812,813", appended to the list */
bool cli_parse_ids(const char *text, struct id_list *list);

#endif
