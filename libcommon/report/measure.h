/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a stack tool measures, for the report: which value of a stack is shown, its unit, and its
 * names.
 */
#ifndef EHPERF_REPORT_MEASURE_H
#define EHPERF_REPORT_MEASURE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/counted.h"
#include "report/stack_entry.h"

struct stack_summary;

struct measure {
	/* the value that stacks are sorted by and that text shows: a count, or a time in ns */
	uint64_t (*value)(const struct stack_value *value);
	/* the stacks are waits, some of which may be idle (report/idle.h) */
	bool of_waits;
	/* printed in microseconds in text and folded output, as by bcc's tools */
	bool is_time;
	/* ns per unit of the value: 1 if it is a time; 0: it stands for no time */
	uint64_t value_ns;
	const char *counted; /* "samples": the summary begins with their number */
	/* the unit of the value, if it is the sum of an argument: "bytes". NULL: it is not a sum */
	const char *sum_unit;
	/*
	 * after a count of forks_lost: "processes of the command not sampled: ..."; NULL: a default
	 */
	const char *unfollowed;
	/* Prints the summary's beginning. NULL: "COUNT counted in SECONDS s" */
	void (*say)(FILE *out, const struct stack_summary *summary);
	/* in text, a frame outside of all others. NULL: none */
	const char *(*root)(const struct stack_entry *entry);
	/* Add to the JSON of a stack and of the summary. NULL: nothing to add */
	void (*stack_json)(struct json_object *stack, const struct stack_entry *entry);
	void (*summary_json)(struct json_object *object, const struct stack_summary *summary);
};

/* for .value: how often a stack was seen */
uint64_t measure_count(const struct stack_value *value);
/*
 * for .value: the sum of an argument, limited to the largest number that JSON and other formats can
 * represent
 */
uint64_t measure_sum(const struct stack_value *value);

/* a value as text and folded output have it, and its unit: times in microseconds */
uint64_t measure_in_text(const struct measure *measure, uint64_t value);
const char *measure_unit(const struct measure *measure);
/* both: "812 us", "1 sample" */
struct counted measure_say(const struct measure *measure, uint64_t value);
/* 0 if sum is 0 */
double percent_of(uint64_t value, uint64_t sum);

/*
 * whole off-CPU periods, or the part of each before the wake-up (blocked) or after it (waiting to
 * run)
 */
enum off_cpu_part { OFF_CPU_ALL, OFF_CPU_BLOCKED, OFF_CPU_WAITING, NR_OFF_CPU_PARTS };
extern const struct measure off_cpu_measures[NR_OFF_CPU_PARTS];

#endif
