/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints series: the histogram, its figures, what share of the time was spent how, and the stacks of most of it. */
#ifndef EHPERF_REPORT_SERIES_REPORT_H
#define EHPERF_REPORT_SERIES_REPORT_H

#include "report/series.h"
#include "report/stack_writer.h"

struct series_report {
	const char *counted;		/* "calls" */
	bool off_cpu;			/* it is known which part of the time was spent on the CPU, blocked, waiting for one */
	struct stack_writer writer;	/* .out is where all goes */
	const struct stack_entry *entries;	/* of all series, values in ns */
	size_t nr_entries;
	size_t nr_stacks;		/* of one series to be shown at most */
};

void series_report_text(const struct series_report *report, const struct series *series, const char *title);
/* into an object that has what the tool says of it */
void series_report_json(const struct series_report *report, const struct series *series, struct json_object *object);

/* a stack, its time and its share of total_ns */
void series_report_stack(const struct stack_writer *writer, const struct stack_entry *entry, uint64_t total_ns);
struct json_object *series_report_json_stack(const struct stack_writer *writer, const struct stack_entry *entry);

/* "EINVAL"; a number where libc has no name for it */
struct errno_name {
	char text[24];
};
struct errno_name errno_name(int number);

#endif
