/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report has room for so many frames, and each process has an equal share of it; what one does not need, the others get.
 * A process's hottest stacks are kept. Those for which its share has no room become one, with their sum and a FRAME_SUMMED().
 */
#ifndef EHPERF_REPORT_OTHER_STACKS_H
#define EHPERF_REPORT_OTHER_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "report/measure.h"
#include "report/stack_entry.h"

struct other_stacks {
	struct stack_frames **marks;	/* the frames of the sums */
	size_t nr_marks;
	uint64_t nr;			/* stacks that were summed up */
};

/*
 * Sums up what there is no room for: *nr entries are left, in another order. Threads, states, events and end reasons are kept
 * apart. The entries are valid until other_stacks_free(). 0 or -ENOMEM
 */
int other_stacks_sum_up(struct other_stacks *others, const struct measure *measure, uint64_t max_frames,
			struct stack_entry *entries, size_t *nr);
void other_stacks_free(struct other_stacks *others);

#endif
