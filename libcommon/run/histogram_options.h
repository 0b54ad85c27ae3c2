/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that all histogram tools share. */
#ifndef EHPERF_RUN_HISTOGRAM_OPTIONS_H
#define EHPERF_RUN_HISTOGRAM_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "report/histogram.h"
#include "run/cli.h"
#include "run/run.h"

struct histogram_options {
	struct run_options run;
	const struct histogram_unit *unit;
	bool unit_given;  /* -n, -u or -m */
	uint64_t slow_ns; /* the tool's: --slow, 0 without it */
	/* the tool's: the option by which histograms have stacks, NULL without it */
	const char *stacks;
	bool per_process; /* a series for each process; the tool's programs make them */
	bool timestamps;
	bool json;    /* -j was given; outputs[].json of the run is also set by the file's ending */
	bool heatmap; /* print heat maps instead of histograms */
	bool svg;     /* as a picture */
};

#define HISTOGRAM_OPTIONS_DEFAULT        \
	{                                \
		.unit = &histogram_usecs \
	}

/* for the tool's own argp */
#define HISTOGRAM_ARGS_DOC "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]"

/*
 * Parses the command line of a histogram tool; `tool` has its own options. An error ends the
 * program with a message: EXIT_USAGE, or EXIT_FAILURE for a process that does not exist.
 */
void histogram_options_parse(struct histogram_options *options, const struct argp *tool,
			     void *tool_options, int argc, char **argv);

#endif
