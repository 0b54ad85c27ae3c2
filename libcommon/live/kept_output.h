/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of what is written while a view has the terminal: a child copies it from a pipe to a
 * memory file, whose beginning it drops. So a command that writes much takes no memory, and never
 * waits until the tool has time. The child ends when nobody has the pipe any more: who still writes
 * when the tool has ended is not ended by that.
 */
#ifndef EHPERF_LIVE_KEPT_OUTPUT_H
#define EHPERF_LIVE_KEPT_OUTPUT_H

/* at least so much of the end is in the file; before that, there are zeros */
#define KEPT_BYTES (64 << 10)

struct kept_output {
	int pipe; /* to write to */
	int file; /* to read from */
};

/* Starts the child. 0 or -errno */
int kept_output_begin(struct kept_output *kept);
/*
 * Waits until the file has what was written, unless somebody writes on. May be called by a signal
 * handler.
 */
void kept_output_await(const struct kept_output *kept);

#endif
