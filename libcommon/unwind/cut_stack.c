// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cut_stack.h"

#include <string.h>

#include "frame_place.h"
#include "stacks_abi.h"

uint32_t cut_stack_order(uint64_t *frames, const uint64_t *placed, uint32_t nr_walked,
			 uint32_t depth)
{
	uint32_t nr_root = ROOT_FRAMES(depth), nr_leaf = depth - nr_root;

	if (nr_walked <= depth) {
		memcpy(frames, placed, nr_walked * sizeof(*frames));
		return nr_walked;
	}
	memcpy(frames, placed, nr_leaf * sizeof(*frames));
	frames[nr_leaf] = FRAME_CUT(nr_walked - depth);
	for (uint32_t i = 0; i < nr_root; i++)
		frames[nr_leaf + 1 + i] = placed[frame_place(nr_walked - nr_root + i, depth)];
	return depth + 1;
}
