/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the reports of a run go: all to run->out, the output in use; or, with --every and strftime(3) conversions in the
 * output's name, each to its own file, which gets its final name when it is complete. Errors end the tool with a message.
 */
#ifndef EHPERF_RUN_RUN_REPORT_H
#define EHPERF_RUN_RUN_REPORT_H

#include <stdbool.h>
#include <time.h>

#include "run/run.h"

/* Does each report of the output in use go to its own file? Would it, with this name? */
bool run_report_apart(const struct run *run);
bool run_report_names_apart(const struct run_options *options, const char *name);

/* Makes run->out the file of the report of what was measured from then on; JSON gets its first line. */
void run_report_begin(struct run *run, time_t began);
/* Until a report begins in a file of its own, run->out goes nowhere. */
void run_report_none(struct run *run);
/* All of the report is written. last: no report follows, and the output is closed */
void run_report_end(struct run *run, bool last);

#endif
