/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints series: the histogram, its figures, how the time was spent, and the stacks with the
 * largest share of it.
 */
#ifndef EHPERF_REPORT_SERIES_REPORT_H
#define EHPERF_REPORT_SERIES_REPORT_H

#include "report/series.h"
#include "report/stack_writer.h"

struct series_report {
	const char *counted; /* "calls" */
	bool off_cpu;        /* the time is split into on the CPU, blocked, and waiting to run */
	struct stack_writer writer; /* all output goes to writer.out */
	/*
	 * stacks of all series, with values in ns or bytes; an entry's waker, if any, is the thread
	 * that started what was measured
	 */
	const struct stack_entry *entries;
	size_t nr_entries;
	size_t nr_stacks; /* stacks shown per series, at most */
};

void series_report_text(const struct series_report *report, const struct series *series,
			const char *title);
/* Adds to an object that has the tool's part already. */
void series_report_json(const struct series_report *report, const struct series *series,
			struct json_object *object);

/* Prints a stack, its value in this unit, and its share of total_ns. */
void series_report_stack(const struct stack_writer *writer, const struct stack_entry *entry,
			 const struct histogram_unit *unit, uint64_t total_ns);
struct json_object *series_report_json_stack(const struct stack_writer *writer,
					     const struct stack_entry *entry,
					     const struct histogram_unit *unit);

/* "EINVAL", or "errno 600" if libc has no name for it */
struct errno_name {
	char text[24];
};
struct errno_name errno_name(int number);

#endif
