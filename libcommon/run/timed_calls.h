/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that times calls (bpf/timed_calls.bpf.h): histograms of their times, the stacks in which
 * they were blocked, slow calls one by one, those that have not returned at the end, and what was
 * lost. Errors end the tool with a message.
 *
 *   stack_session_configure   histogram_session_configure   (load)
 *   timed_calls_open   (attach)   timed_calls_measure
 *   timed_calls_finish   timed_calls_report   return timed_calls_close
 */
#ifndef EHPERF_RUN_TIMED_CALLS_H
#define EHPERF_RUN_TIMED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/losses.h"
#include "run/histogram_session.h"
#include "run/slow_calls.h"
#include "run/stack_session.h"
#include "timed_calls_abi.h"

struct timed_calls {
	struct stack_session stacks;
	/* events that programs missed while calls were measured; from timed_calls_measure() on */
	struct loss missed;
	struct call_counts counts; /* from timed_calls_finish() on */
	/* private */
	struct histogram_tool tool;
	struct histogram_session histograms;
	struct slow_calls slow;
	struct links scheduler;
	bool *measuring;
	size_t key_bytes;
	void *in_flight; /* each a struct call_in_flight and its key; NULL: not listed yet */
	size_t nr_in_flight;
	uint64_t listed_ns; /* CLOCK_MONOTONIC */
};

/*
 * After loading. tool: says how to print its keys, which have so many bytes, a multiple of 8; the
 * rest is set here. measuring: the variable of the BPF programs
 */
void timed_calls_open(struct timed_calls *calls, struct bpf_object *object,
		      const struct histogram_options *options, const struct stacks_wanted *stacks,
		      const struct histogram_tool *tool, size_t key_bytes, bool *measuring);

/* Measures until the run is over. links: the tool's own programs, all attached; they stay so */
void timed_calls_measure(struct timed_calls *calls, const struct links *links);

/*
 * Prints the calls that are not printed yet, and sums the counters. No program measures any more.
 */
void timed_calls_finish(struct timed_calls *calls);

/*
 * Prints the summary, the losses, and the first of the calls that have not returned. lost_calls:
 * how many began and ended, but are in no histogram, besides those whose thread died; own: the
 * tool's own losses
 */
void timed_calls_report(struct timed_calls *calls, uint64_t lost_calls, const struct loss *own,
			size_t nr_own);

/*
 * Detaches the tool's own programs, links, too: after the report, which names their trampolines,
 * and because older kernels take their time. Returns the tool's exit status.
 */
int timed_calls_close(struct timed_calls *calls, struct links *links);

#endif
