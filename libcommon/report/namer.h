/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds names of user frames. Files of other users must be opened and read for that: symbol tables,
 * debug files, and files that runtimes have written. So workers do it (process/workers.h). A worker
 * is asked for many frames at a time. The names are kept here. A file that blocks the worker, or
 * takes too much of its time, gets no names, and is counted.
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
	/* returns a descriptor: once it is readable, no more names are looked up. NULL: none */
	int (*interrupt_fd)(void);
	/* fetches debug files for those that lack them; NULL: none */
	struct debuginfod *debuginfod;
};

/* The modules must outlive the namer. 0 or -errno */
int namer_new(struct namer **namer, struct modules *modules, const struct namer_options *options);
void namer_free(struct namer *namer);

/*
 * A stack of this user's process with these user frames was seen. Reads soon what may disappear:
 * files that only a live process leads to, as in containers or once they are deleted; files that
 * are new; and names of code in no file, which may move. 0 or -ENOMEM
 */
int namer_see(struct namer *namer, pid_t pid, uint32_t uid, const uint64_t *frames, size_t nr);
/*
 * Takes answers, and asks for the names that namer_see() wants. Call it several times a second
 * while stacks are seen. 0 or -ENOMEM
 */
int namer_follow(struct namer *namer);

/*
 * Finds the names of all user frames of these stacks. What gets none is in namer_losses(), or the
 * interrupt came. 0 or -ENOMEM
 */
int namer_learn(struct namer *namer, const struct stack_entry *entries, size_t nr);

/*
 * The frame's name, as frame_name_user() makes it. If it is not known yet, asks a worker and waits.
 * The namer owns the strings.
 */
struct frame_name namer_find(struct namer *namer, pid_t pid, uint64_t frame);

/*
 * Opens the module's file and what may be its debug file; *debug is the key that tells the right
 * one. All are the caller's; opened->fd is negative for the vDSO. False: it cannot be opened now
 */
bool namer_open_file(struct namer *namer, struct module *module, struct opened_elf *opened,
		     struct debug_key *debug);

/* Fetches the debug file of a module that has none; tries it once. True: it is there now */
bool namer_fetch(struct namer *namer, struct module *module);

/*
 * Call it after each report, when no name is in use. Forgets names of modules that are forgotten.
 * If names take much memory, also forgets the names that were not used since the call before the
 * last one. Code in no file may have changed: namer_see() asks for its names once more. The next
 * report gets its full time for names again.
 */
void namer_forget(struct namer *namer);

/* what got no names: files, and processes' code in no file */
struct namer_losses {
	size_t given_up;
	/* the file that was given up last; NULL: it was code in no file, of this process */
	const char *path;
	pid_t pid;
	int error; /* and why */
	/* how many lack names, because there was no time, or no room */
	size_t passed_over, no_room;
	/*
	 * why debug files were not fetched: an error of debuginfod_fetch() except -ENOENT; 0: none
	 */
	int not_fetched;
};
struct namer_losses namer_losses(const struct namer *namer);
/* Did this process's code in no file get no names? */
bool namer_lost_code(const struct namer *namer, pid_t pid);
/*
 * the path of the frame's file, if that was gone before its names were read; else NULL, also if the
 * module is forgotten
 */
const char *namer_gone(const struct namer *namer, uint64_t frame);

#endif
