/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that are deeper than what is kept of them: both their ends, with a mark between. */
#ifndef EHPERF_UNWIND_CUT_STACK_H
#define EHPERF_UNWIND_CUT_STACK_H

#include <stdint.h>

/*
 * Copies the frames of a walk from the places where it has left them (bpf/frame_place.h) in their order,
 * leaf first. If the walk had more than `depth` frames, a FRAME_CUT() stands for those that are missing.
 * Returns how many there are now: depth + 1 at most.
 */
uint32_t cut_stack_order(uint64_t *frames, const uint64_t *placed, uint32_t nr_walked, uint32_t depth);

#endif
