/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run in which times are gathered in histograms (bpf/histograms.bpf.h), read and printed interval by interval, or
 * drawn as heat maps at the end; with the stacks that most of the time was spent in, for a tool that has a stack
 * session too. What goes wrong ends the program with a message.
 *
 *   histogram_session_configure   (load)   histogram_session_open   (attach)   run_measure(session.run)   (detach)
 *   histogram_session_finish   histogram_session_report   return histogram_session_close
 */
#ifndef EHPERF_RUN_HISTOGRAM_SESSION_H
#define EHPERF_RUN_HISTOGRAM_SESSION_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/links.h"
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
	bool off_cpu;			/* its programs tell which part of the time was off the CPU, */
	bool errors;			/* and what failed */
	struct series_title (*title)(const void *key);
	struct json_object *(*json)(const void *key);
	/* The last interval is over: nothing that begins from now on is in any. NULL: nothing is to be done */
	void (*stop)(void *arg);
	void *arg;
};

struct histogram_session {
	struct run *run;		/* the stack session's, or */
	struct run own_run;
	const struct histogram_options *options;
	const struct histogram_tool *tool;
	struct stack_session *stacks;	/* NULL: no stacks */
	uint64_t count, errors;		/* in the intervals so far */
	uint64_t intervals;		/* that were printed */
	bool over;			/* all intervals are: what is gathered now belongs to none */
	/* private */
	struct links followers;		/* of processes, where no stack session has them followed */
	struct stack_writer writer;
	struct bpf_histograms *histograms;
	struct heatmap *heatmaps[MAX_SERIES];
	bool warned;
};

/*
 * Writes the options into an opened object that includes bpf/histograms.bpf.h and bpf/task.bpf.h. One with a stack
 * session is to be configured by that, too.
 */
void histogram_session_configure(struct bpf_object *object, const struct histogram_options *options);

/*
 * After loading. stacks: an open session, of whose run it becomes a part; or NULL: it has a run of its own, lists what
 * is to be measured and starts the command, which waits.
 */
void histogram_session_open(struct histogram_session *session, struct stack_session *stacks, struct bpf_object *object,
			    const struct histogram_options *options, const struct histogram_tool *tool);

/* how many of what was counted found no series, and are in no histogram */
uint64_t histogram_session_lost(const struct histogram_session *session);

/* With no program attached any more: the rest is an interval too. */
void histogram_session_finish(struct histogram_session *session);

/*
 * Prints heat maps and summary, closes the output, and says how many there were and what was lost. losses: the tool's
 * own, to which those that found no series are added
 */
void histogram_session_report(struct histogram_session *session, const struct loss *losses, size_t nr_losses);

/* the exit status of its own run: the command's, or 0 */
int histogram_session_close(struct histogram_session *session);

#endif
