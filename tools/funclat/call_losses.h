/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the calls that are missing in funclat's histograms, by cause. */
#ifndef EHPERF_FUNCLAT_CALL_LOSSES_H
#define EHPERF_FUNCLAT_CALL_LOSSES_H

#include <stdint.h>

#include "report/losses.h"
#include "stacks_abi.h"

struct bpf_object;

#define NR_CALL_LOSSES 13

/*
 * Call when no program is attached any more. calls: how many were added to histograms, or lost because there was no room for one;
 * stacks: the session's counters. losses[0] is the calls in flight; the last one, what programs missed, is not changed. 0 or
 * -errno
 */
int call_losses_read(struct loss losses[NR_CALL_LOSSES], struct bpf_object *object,
		     const struct stack_stats *stacks, uint64_t calls);

#endif
