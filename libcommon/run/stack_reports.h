/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of a session's stacks: of all that it has gathered, or of a part. Errors end the program
 * with a message.
 */
#ifndef EHPERF_RUN_STACK_REPORTS_H
#define EHPERF_RUN_STACK_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stack_filter.h"
#include "run/stack_session.h"

/* what a report is of */
struct report_of {
	struct stack_entry *entries; /* the report sorts them */
	size_t nr;
	double from, until;               /* when they were measured: CLOCK_MONOTONIC */
	const int64_t *lost;              /* then: as of stack_session_losses() */
	uint64_t room;                    /* for so many frames; the coldest stacks are summed up */
	const struct stack_pattern *only; /* NULL: of all stacks */
	/*
	 * Views need .paths, and all else seldom: .summary.names and .processes are left to
	 * report_count_names() and report_note_processes(). Without `only`, the entries' names and
	 * places are left to report_complete().
	 */
	bool for_view;
};

/*
 * The session has its options and its measure by now. The entries must outlive the report.
 */
void report_make(struct stack_session *session, struct made_report *made,
		 const struct report_of *of);
/*
 * For a report that was made for a view: names, places and sorts all entries, notes their
 * processes, and counts the calls of runtimes in .summary.
 */
void report_complete(const struct stack_session *session, struct made_report *made);
/* then: counts the frames that have a name in .summary */
void report_count_names(struct made_report *made);
/* Notes the processes alone. */
void report_note_processes(const struct stack_session *session, struct made_report *made);
/* {} is allowed */
void report_free(struct made_report *made);

/*
 * How many frames a report has room for, in the longest of its formats. Text of few stacks and
 * functions is small.
 */
uint64_t report_room(const struct stack_options *options);

/* Writes it to all outputs. last: the run is over */
void report_write(struct stack_session *session, struct made_report *made, bool last);

#endif
