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

/* Makes run->out the file of the report of what was measured from then on; JSON gets its first line. */
void run_report_begin(struct run *run, time_t began);
/* All of the report is written. last: no report follows, and the output is closed */
void run_report_end(struct run *run, bool last);

#endif
