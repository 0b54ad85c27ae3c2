/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run says when it begins: a line on stderr, and JSON's first line. */
#ifndef EHPERF_RUN_RUN_START_H
#define EHPERF_RUN_RUN_START_H

#include "run/run.h"

/* Makes run->start and run->filters from the options that all tools share. */
void run_start_init(struct run *run);

/* Prints run->start to the outputs that are JSON. */
void run_start_put(struct run *run);

/*
 * Prints "DOING for 10 s... Ctrl-C to end" to stderr, unless the run is quiet; and run_start_put().
 * With a view, nothing: it shows what is measured, and its outputs are written after it.
 */
void run_start_say(struct run *run);

#endif
