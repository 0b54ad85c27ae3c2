/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a tool writes, MAX_OUTPUT_FILES at a time. Others may be able to write to its directory. So no link there is
 * followed, and no name of ours can be guessed: what is written stands under NAME.XXXXXX.part until it is whole.
 * Then it is renamed to NAME, and replaces what has that name. Errors end the tool with a message.
 */
#ifndef EHPERF_RUN_OUTPUT_FILE_H
#define EHPERF_RUN_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define MAX_OUTPUT_FILES 16

/* Creates the unfinished file. The umask applies to mode. */
FILE *output_file_new(const char *name, mode_t mode);

/*
 * As output_file_new(), but a character device, and a FIFO of the caller's own, are opened themselves; what else is no file
 * is refused. A FIFO's reader is waited for until a signal comes, or for so long (0: no limit).
 */
FILE *output_file_open(const char *name, mode_t mode, uint64_t patience_ns);

/* the name of a file that was opened here, closed or not; "" for another one */
const char *output_file_name(const FILE *file);

/*
 * All that was written to the file, which may be closed by now, is whole: gives it its name, if it has not got it yet. Other
 * files stay as they are.
 */
void output_file_publish(const FILE *file);

/* Removes the files that have not got their names yet. May be called by a signal handler. */
void output_file_remove(void);

#endif
