/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that are deeper than what is kept of them: both their ends, with a mark between. */
#ifndef EHPERF_UNWIND_CUT_STACK_H
#define EHPERF_UNWIND_CUT_STACK_H

#include <stdint.h>

/*
 * Copies the frames of a walk from their places (bpf/frame_place.h), in order, leaf first. If the
 * walk had more than `depth` frames, a FRAME_CUT() replaces the missing ones. Returns the number of
 * frames now: at most depth + 1.
 */
uint32_t cut_stack_order(uint64_t *frames, const uint64_t *placed, uint32_t nr_walked,
			 uint32_t depth);

#endif
