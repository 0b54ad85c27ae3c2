/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stack tool measures, as it tells the report: which value of a stack counts, its unit, and the words for it. */
#ifndef EHPERF_REPORT_MEASURE_H
#define EHPERF_REPORT_MEASURE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/stack_entry.h"

struct stack_summary;

struct measure {
	/* what stacks are sorted by and text shows: a count, or a time in ns */
	uint64_t (*value)(const struct stack_value *value);
	bool is_time;			/* text and folded output have it in microseconds, as bcc's tools do */
	uint64_t value_ns;		/* the time that one of the value stands for: 1 where it is a time; 0: none */
	const char *counted;		/* the summary begins with how many of these there were: "samples" */
	/* what children are that could not be listed: "processes … not sampled: …"; NULL: "… not followed: …" */
	const char *unfollowed;
	/* instead of "COUNT counted in SECONDS s"; NULL: that */
	void (*say)(FILE *out, const struct stack_summary *summary);
	/* what else is told of a stack and in the summary; NULL: nothing */
	void (*stack_json)(struct json_object *stack, const struct stack_entry *entry);
	void (*summary_json)(struct json_object *object, const struct stack_summary *summary);
};

/* for .value: how often a stack was there */
uint64_t measure_count(const struct stack_value *value);

/* times off the CPU: whole off-CPU periods, or the part before or after the wake-up */
enum off_cpu_part { OFF_CPU_ALL, OFF_CPU_BLOCKED, OFF_CPU_WAITING, NR_OFF_CPU_PARTS };
extern const struct measure off_cpu_measures[NR_OFF_CPU_PARTS];

#endif
