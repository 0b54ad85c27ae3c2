/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run in which times are gathered in histograms (bpf/histograms.bpf.h), read and printed interval by interval, or
 * drawn as heat maps at the end; with the stacks that most of the time was spent in, for a tool that has a stack
 * session too. What goes wrong ends the program with a message.
 *
 *   histogram_session_configure   (load)   histogram_session_open   (attach)   run_measure   (detach)
 *   histogram_session_finish   histogram_session_report   run_say_losses   histogram_session_close
 */
#ifndef EHPERF_RUN_HISTOGRAM_SESSION_H
#define EHPERF_RUN_HISTOGRAM_SESSION_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histograms_abi.h"
#include "report/losses.h"
#include "report/series.h"
#include "report/stack_writer.h"
#include "run/histogram_options.h"
#include "run/run.h"

struct bpf_object;
struct stack_session;

/* what a tool's histograms are of */
struct histogram_tool {
	const char *counted;		/* "calls": in text, and in the summary's JSON */
	bool off_cpu;			/* its programs tell which part of the time was off the CPU */
	struct series_title (*title)(const void *key);
	struct json_object *(*json)(const void *key);
	/* The last interval is over: nothing that begins from now on is in any. NULL: nothing is to be done */
	void (*stop)(void *arg);
	/* how many found no series, for which a warning is given while it runs; NULL: never */
	uint64_t (*without_series)(void *arg);
	void *arg;
};

struct histogram_session {
	struct run *run;
	const struct histogram_options *options;
	const struct histogram_tool *tool;
	struct stack_session *stacks;	/* NULL: no stacks */
	uint64_t count, errors;		/* in the intervals so far */
	uint64_t intervals;		/* that were printed */
	bool over;			/* all intervals are: what is gathered now belongs to none */
	/* private */
	struct stack_writer writer;
	struct bpf_histograms *histograms;
	struct heatmap *heatmaps[MAX_SERIES];
	bool warned;
};

void histogram_session_configure(struct bpf_object *object, const struct histogram_options *options);

/* After loading, for an opened run, of which it becomes a part. stacks: whose run it is, or NULL */
void histogram_session_open(struct histogram_session *session, struct run *run, struct stack_session *stacks,
			    struct bpf_object *object, const struct histogram_options *options,
			    const struct histogram_tool *tool);

/* With no program attached any more: the rest is an interval too. */
void histogram_session_finish(struct histogram_session *session);

/* Prints heat maps and summary, closes the output, and says how many there were; run_say_losses() comes next. */
void histogram_session_report(struct histogram_session *session, const struct loss *losses, size_t nr_losses);

void histogram_session_close(struct histogram_session *session);

#endif
