/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that a tool writes, one at a time. Others may be able to write to its directory. So no link there is
 * followed, and no name of ours can be guessed: what is written stands under NAME.XXXXXX.part until it is whole.
 * Then it is renamed to NAME, and replaces what has that name. Errors end the tool with a message.
 */
#ifndef EHPERF_RUN_OUTPUT_FILE_H
#define EHPERF_RUN_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Creates the unfinished file. The umask applies to mode. */
FILE *output_file_new(const char *name, mode_t mode);

/*
 * As output_file_new(), but a character device, and a FIFO of the caller's own, are opened themselves; what else is no file
 * is refused. A FIFO's reader is waited for until a signal comes, or for so long (0: no limit).
 */
FILE *output_file_open(const char *name, mode_t mode, uint64_t patience_ns);

/* the name of the file that was opened last */
const char *output_file_name(void);

/* All that was written by now is whole: gives the file its name, if it has not got it yet. */
void output_file_publish(void);

/* Removes the file if it has not got its name yet. May be called by a signal handler. */
void output_file_remove(void);

#endif
