/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by tools that sum up off-CPU periods (bpf/off_cpu_sums.bpf.h): the options that select
 * periods, and the run from its start to its report.
 */
#ifndef EHPERF_RUN_OFF_CPU_RUN_H
#define EHPERF_RUN_OFF_CPU_RUN_H

#include <argp.h>
#include <stdint.h>

#include "report/losses.h"
#include "report/measure.h"
#include "run/stack_options.h"

struct bpf_object;
struct links;
struct stack_session;

struct off_cpu_options {
	struct stack_options stacks;
	uint64_t min_ns, max_ns;
	uint32_t states; /* 1 << enum thread_state; 0: all states that are waits */
	enum off_cpu_part part;
};

#define OFF_CPU_OPTIONS_DEFAULT                                                            \
	{                                                                                  \
		.stacks = STACK_OPTIONS_DEFAULT, .max_ns = UINT64_MAX, .part = OFF_CPU_ALL \
	}

/*
 * rows of a tool's option table, and their parser, as argp has it: state->input is a struct
 * off_cpu_options
 */
enum { OPTION_STATE = 0x200, OPTION_TIME, OPTION_IDLE };
/* clang-format off */
#define OFF_CPU_OPTION_ROWS \
	{ "min-time", 'm', "TIME", 0, \
	  "only periods this long or longer: 10ms, 50 (us)", OF_MEASURE }, \
	{ "min-block-time", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, OF_MEASURE }, \
	{ "max-time", 'M', "TIME", 0, "only periods this long or shorter", OF_MEASURE }, \
	{ "max-block-time", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, OF_MEASURE }, \
	{ "state", OPTION_STATE, "STATES", 0, \
	  "only waits in these states: RSDTtPI, or a mask", OF_MEASURE }, \
	{ "idle", OPTION_IDLE, NULL, 0, "show idle threads' waits, too", OF_OUTPUT }
/* clang-format on */
error_t off_cpu_parse(int key, char *arg, struct argp_state *state);

/* Writes the options into an opened object. */
void off_cpu_run_configure(struct bpf_object *object, const struct off_cpu_options *options);

/* What the kernel did not report: wake-ups, and periods that ended unseen. */
struct loss off_cpu_missed(const struct stack_session *session, const struct links *links);

/* After loading: attaches, measures and reports. The tool's exit status */
int off_cpu_run(struct bpf_object *object, const struct off_cpu_options *options);

#endif
