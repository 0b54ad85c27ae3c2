/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that gathers times in histograms (bpf/histograms.bpf.h), and prints them at the end of each
 * interval, or draws heat maps at the end. If the tool has a stack session too, histograms are
 * printed with the stacks in which most of the time was spent. Errors end the program with a
 * message.
 *
 *   histogram_session_configure   (load)   histogram_session_open
 *   (attach)   run_measure(session.run)   (detach)
 *   histogram_session_finish   histogram_session_report   return histogram_session_close
 */
#ifndef EHPERF_RUN_HISTOGRAM_SESSION_H
#define EHPERF_RUN_HISTOGRAM_SESSION_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/links.h"
#include "histograms_abi.h"
#include "report/losses.h"
#include "report/series.h"
#include "report/stack_writer.h"
#include "run/histogram_options.h"
#include "run/run.h"

struct bpf_object;
struct stack_session;

/* what a tool's histograms show */
struct histogram_tool {
	const char *counted; /* "calls": what is counted, in text and in the summary's JSON */
	const char *named;   /* what is counted, on stderr; NULL: as .counted */
	bool off_cpu;        /* its programs split the time into on the CPU, blocked and waiting */
	bool errors;         /* its programs count failures */
	struct series_title (*title)(const void *key);
	struct json_object *(*json)(const void *key);
	/* Called when the last interval ends, to stop measuring. NULL: nothing to do */
	void (*stop)(void *arg);
	void *arg;
};

struct histogram_session {
	struct bpf_object *object; /* loaded */
	struct run *run;           /* the stack session's, or &own_run */
	struct run own_run;
	const struct histogram_options *options;
	const struct histogram_tool *tool;
	struct stack_session *stacks; /* NULL: no stacks */
	uint64_t count, errors;       /* in the intervals so far */
	uint64_t intervals;           /* how many were printed */
	bool over;                    /* the last interval is over: later values belong to none */
	/* private */
	/* programs that follow forks, if there is no stack session to do that */
	struct links followers;
	struct stack_writer writer;
	struct bpf_histograms *histograms;
	struct heatmap *heatmaps[MAX_SERIES + 1];
	uint64_t passed; /* intervals: what is added is of the last of them, or of the next */
	unsigned halved; /* so often: a column is 2^halved intervals */
};

/*
 * Writes the options into an opened object that includes bpf/histograms.bpf.h and bpf/task.bpf.h.
 * If there is a stack session, too, call stack_session_configure() as well.
 */
void histogram_session_configure(struct bpf_object *object,
				 const struct histogram_options *options);

/*
 * After loading. stacks: an open session; this one becomes a part of its run. NULL: this session
 * has its own run, lists the wanted tasks in the kernel, and starts the command, which waits.
 */
void histogram_session_open(struct histogram_session *session, struct stack_session *stacks,
			    struct bpf_object *object, const struct histogram_options *options,
			    const struct histogram_tool *tool);

/* To be called when no program is attached any more: prints the rest as one more interval. */
void histogram_session_finish(struct histogram_session *session);

/*
 * Prints heat maps and summary, closes the output, and prints the total and the losses to stderr.
 * losses: the tool's own; the values for which there was no room for a series are added
 */
void histogram_session_report(struct histogram_session *session, const struct loss *losses,
			      size_t nr_losses);

/* the exit status of its own run: the command's, or 0 */
int histogram_session_close(struct histogram_session *session);

#endif
