/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all stacks of a run come to: how many, why they ended, and what was lost. */
#ifndef EHPERF_REPORT_STACK_SUMMARY_H
#define EHPERF_REPORT_STACK_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/losses.h"
#include "report/measure.h"
#include "report/names_count.h"
#include "report/stack_entry.h"
#include "stacks_abi.h"
#include "unwind/modules.h"

struct stack_summary {
	const char *tool;
	const struct measure *measure;
	double seconds;
	const struct loss *losses;
	size_t nr_losses;
	struct names_count names;
	/* filled in by stack_summary_count(): */
	struct stack_value sum;
	uint64_t ended[NR_END_REASONS];		/* how many, by end reason */
	uint64_t ended_value[NR_END_REASONS];	/* and the measure's value of them */
};

void stack_summary_count(struct stack_summary *summary, const struct stack_entry *entries, size_t nr);

/* one line, and one more for each thing that is not as it should be */
void stack_summary_print(FILE *out, const struct stack_summary *summary);
/* {"type":"summary",…} */
void stack_summary_json(FILE *out, const struct stack_summary *summary);

/* a line for each file without a usable table that ended stacks */
void stack_summary_tableless(FILE *out, const char *tool, const struct modules *modules, const struct stack_entry *entries,
			     size_t nr);

#endif
