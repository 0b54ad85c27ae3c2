/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a tool writes, MAX_OUTPUT_FILES at a time. Other users may be able to write to the
 * directory. So no link there is followed, and names cannot be guessed: a file is NAME.XXXXXX.part
 * until it is complete. Then it is renamed to NAME, and replaces an older file. Errors end the tool
 * with a message.
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
 * As output_file_new(), but opens a character device, and a FIFO of the caller's own, and writes to
 * them. Refuses anything else that is not a regular file. Waits for a FIFO's reader until a signal
 * comes, or for this long (0: no limit).
 */
FILE *output_file_open(const char *name, mode_t mode, uint64_t patience_ns);

/* the name of a file that was opened here, closed or not; "" for another one */
const char *output_file_name(const FILE *file);

/*
 * The file is complete: gives it its final name, unless it has that already. The file may be
 * closed. Other files stay as they are. False: it has another name, and the user was told so
 */
bool output_file_publish(const FILE *file);
/* Removes the file if it does not have its final name yet. It may be closed. */
void output_file_discard(const FILE *file);

/* Removes all files that do not have their final names yet. May be called by a signal handler. */
void output_file_remove(void);

#endif
