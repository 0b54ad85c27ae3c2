/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints all stacks that a tool has gathered, in one of the formats. */
#ifndef EHPERF_REPORT_STACK_REPORT_H
#define EHPERF_REPORT_STACK_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/stack_entry.h"
#include "report/stack_summary.h"
#include "report/stack_writer.h"

/* Sorts them, those with the largest values first: the order in which reports take them. */
void stack_entries_sort(struct stack_entry *entries, size_t nr, const struct measure *measure);

/*
 * Writes all sorted entries, in the format's order, with as much of the summary as the format has a
 * place for. 0 or -errno; errors of writer->out itself are left to ferror().
 */
typedef int stack_report(const struct stack_writer *writer, const struct stack_summary *summary,
			 const struct stack_entry *entries, size_t nr);

/* A new format is a function and a row in this table. */
struct stack_format {
	const char *ending; /* of a file's name */
	stack_report *write;
	unsigned frame_bytes; /* what a frame takes in a file, about */
	bool joins;           /* several reports can follow each other in a file */
};

bool file_name_ends_in(const char *file_name, const char *ending);
/* Finds the format by the ending of a file's name. NULL: no format has this ending */
const struct stack_format *stack_format_of(const char *file_name);
/* for messages */
#define STACK_FORMAT_ENDINGS ".txt, .folded, .jsonl, .svg, .html, .pb.gz, .json or .perf"

/* the formats that have an option, too */
extern const struct stack_format *const stack_format_text, *const stack_format_folded,
								   *const stack_format_json;

/* ---- the formats ---- */

/*
 * in the layout of bcc's tools: frames leaf first, then comm (pid), then the value and its share of
 * all; the largest value comes last. Stacks with equal text are merged.
 */
stack_report stack_report_text, stack_report_folded;
/* {"type":"stack",…} each, then {"type":"summary",…} */
stack_report stack_report_json;
/* flame graphs for a browser */
stack_report stack_report_svg, stack_report_html;
/* for pprof; writer->out must be a file */
stack_report stack_report_pprof;
stack_report stack_report_speedscope;
/* the format of perf script: each sample of a stack is printed, as far as there is room */
stack_report stack_report_perf;
#define PERF_FRAME_BYTES 64

#endif
