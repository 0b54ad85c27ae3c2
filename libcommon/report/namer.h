/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of user frames, found by a worker (process/workers.h), because that takes opening and reading files
 * that others own: symbol tables, debug files, what runtimes have written. Each frame is asked for once,
 * many at a time; what is known is kept here. A file that keeps the worker waiting, or takes too much of
 * it, goes without names, and is counted.
 */
#ifndef EHPERF_REPORT_NAMER_H
#define EHPERF_REPORT_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/debuginfod.h"
#include "report/frame_name.h"
#include "report/stack_entry.h"

struct namer;

struct namer_options {
	int interrupt_fd;	/* readable: from then on, nothing new is named; -1: none */
	struct debuginfod *debuginfod;	/* fetches debug files for those that lack them; NULL: none */
};

/* `names` is what the worker names by, and must outlive the namer. 0 or -errno */
int namer_new(struct namer **namer, const struct frame_names *names, const struct namer_options *options);
void namer_free(struct namer *namer);

/*
 * A stack of this process with these user frames was seen: files whose path will lead nowhere when their
 * processes are gone, as in containers, or that are deleted already, are read soon; and names of code in no
 * file are asked for soon, because the process may end, and the code may move. 0 or -ENOMEM
 */
int namer_see(struct namer *namer, pid_t pid, const uint64_t *frames, size_t nr);
/* to be called several times a second while stacks are seen. 0 or -ENOMEM */
int namer_follow(struct namer *namer);

/* Finds the names of all user frames of these stacks. 0 or -ENOMEM */
int namer_learn(struct namer *namer, const struct stack_entry *entries, size_t nr);

/* frame_name_user(), of what is known and, if it is not, asked for now; the strings are the namer's */
struct frame_name namer_find(struct namer *namer, pid_t pid, uint64_t frame);

/* Fetches the debug file of a module that lacks one, once. True: it is there now */
bool namer_fetch(struct namer *namer, struct module *module);

/*
 * What was named of modules that are forgotten is forgotten; and where that is much, what nobody has asked
 * for since the last call but one. To be called after each report, when no name is in use.
 */
void namer_forget(struct namer *namer);

/* files, and processes' code in no file, that went without names */
struct namer_losses {
	size_t given_up;
	const char *path;	/* the last one's; NULL: it was no file, but this process's code */
	pid_t pid;
	int error;		/* and why */
	size_t passed_over;	/* not asked at all, because others had taken all the time */
	int not_fetched;	/* why a debug file was not fetched, or no more are: debuginfod_fetch()'s error, but -ENOENT; 0 */
};
struct namer_losses namer_losses(const struct namer *namer);
/* Is code of this process that is in no file among them? */
bool namer_lost_code(const struct namer *namer, pid_t pid);

#endif
