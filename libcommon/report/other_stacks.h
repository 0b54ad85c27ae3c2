/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report has room for a limited number of frames, which users and their processes share
 * (report/shares.h). The hottest stacks of a process are kept. The others become one stack with a
 * FRAME_SUMMED() and their sum.
 */
#ifndef EHPERF_REPORT_OTHER_STACKS_H
#define EHPERF_REPORT_OTHER_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "report/measure.h"
#include "report/stack_entry.h"

struct other_stacks {
	struct stack_frames **marks; /* the frames of the sums */
	size_t nr_marks;
	uint64_t nr; /* stacks that were summed up */
};

/*
 * Sums up stacks for which there is no room, separately for each thread, state, event and end
 * reason. *nr entries are left, in another order, valid until other_stacks_free(). 0 or -ENOMEM
 */
int other_stacks_sum_up(struct other_stacks *others, const struct measure *measure,
			uint64_t max_frames, struct stack_entry *entries, size_t *nr);
/* how many lines it is in a report: its frames, its waker's, and one of its own */
uint64_t stack_lines(const struct stack_entry *entry);
void other_stacks_free(struct other_stacks *others);

#endif
