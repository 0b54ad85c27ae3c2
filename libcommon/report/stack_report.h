/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what a stack tool gathered: text as bcc's tools do, folded, or JSON, and the summary. */
#ifndef EHPERF_REPORT_STACK_REPORT_H
#define EHPERF_REPORT_STACK_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/json.h"
#include "process/kallsyms.h"
#include "unwind/modules.h"
#include "report/stack_entry.h"
#include "stacks_abi.h"

enum report_format { REPORT_TEXT, REPORT_FOLDED, REPORT_JSON };

/* what is printed and sorted by: samples, or microseconds off the CPU: of whole stays, or a part of each */
enum report_measure { REPORT_SAMPLES, REPORT_OFF_CPU, REPORT_BLOCKED, REPORT_WAITING };

struct report_options {
	enum report_format format;
	bool delimiter;			/* "-" between user and kernel frames */
	bool annotate;			/* "_[k]" behind kernel frames, "_[j]" behind nobody's code */
	uint64_t ns_per_sample;		/* REPORT_SAMPLES: for JSON's value_ns */
	bool switched;			/* kernel stacks were taken in sched_switch: without what takes them */
};

struct report_summary {
	const char *tool;
	enum report_measure measure;
	double seconds;
	uint64_t samples;		/* the entries' counts, filled in by stack_report() */
	uint64_t lost;			/* no program saw them */
	uint64_t no_room, stacks_lost, forks_lost;
	uint64_t ended[NR_END_REASONS];	/* filled in by stack_report() */
	/* and these, but for REPORT_SAMPLES: time by end reason, as measured, and of what it consists */
	uint64_t ended_ns[NR_END_REASONS], blocked_ns, waiting_ns;
};

/*
 * Writes the entries, most first, and fills in the summary's counts. 0 or -errno; errors of out itself
 * are left to ferror().
 */
int stack_report(FILE *out, const struct report_options *options, struct modules *modules,
		 const struct stack_entry *entries, size_t nr, struct report_summary *summary);

/* for tools that print stacks their own way: one stack's frames */
struct frames_writer {
	const struct report_options *options;
	enum report_measure measure;
	struct modules *modules;
	const struct kallsyms *kallsyms;	/* NULL: kernel frames have no names */
	FILE *out;
};

/* a line for each, kernel frames first, leaf first */
void stack_report_frames(const struct frames_writer *writer, const struct stack_entry *entry, int indent);
/* "user" and "kernel" into an object */
void stack_report_json_frames(const struct frames_writer *writer, const struct stack_entry *entry, struct json_object *stack);

/* {"type":"summary",…} */
void stack_report_summary_json(FILE *out, const struct report_summary *summary);
/* one line, and one more for each thing that is not as it should be */
void stack_report_summary_text(FILE *out, const struct report_summary *summary);
/* a line for each file without a usable table that ended stacks */
void stack_report_tableless(FILE *out, const char *tool, const struct modules *modules, const struct stack_entry *entries,
			    size_t nr);

#endif
