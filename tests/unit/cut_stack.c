// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of every depth, kept as the kernel keeps them, against their own first and last frames. */
#include "unwind/cut_stack.h"

#include "check.h"
#include "frame_place.h"
#include "stacks_abi.h"

#define FIRST (1ULL << FRAME_OFFSET_BITS) /* frame number i is FIRST + i */

static bool is_right(const uint64_t *frames, uint32_t nr, uint32_t nr_walked, uint32_t depth)
{
	uint32_t leaf = 0, root = 0;

	if (nr != (nr_walked > depth ? depth + 1 : nr_walked))
		return false;
	while (leaf < nr && frames[leaf] == FIRST + leaf)
		leaf++;
	while (root < nr && frames[nr - 1 - root] == FIRST + nr_walked - 1 - root)
		root++;
	if (nr_walked <= depth)
		return leaf == nr && root == nr;
	return leaf + root == depth && root == ROOT_FRAMES(depth) && FRAME_IS_MARK(frames[leaf]) &&
	       frames[leaf] == nr_walked - depth;
}

static void keep(uint32_t nr_walked, uint32_t depth)
{
	static uint64_t placed[MAX_DEPTH], frames[MAX_DEPTH + 1];
	uint32_t outside = 0, nr;

	for (uint32_t i = 0; i < nr_walked; i++) {
		uint32_t place = frame_place(i, depth);

		if (place < depth)
			placed[place] = FIRST + i;
		else
			outside++;
	}
	nr = cut_stack_order(frames, placed, nr_walked, depth);
	check(is_right(frames, nr, nr_walked, depth), "%u of %u", depth, nr_walked);
	check(!outside || (depth == 1 && outside == nr_walked - 1));
}

int main(void)
{
	static const uint32_t depths[] = { 1, 2, 3, 5, 255, 256, 257, 1024, 1025, 16384 };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		uint32_t depth = depths[i];
		const uint32_t walked[] = { 0,         1,           depth - 1,   depth,
					    depth + 1, depth + 127, depth + 128, 3 * depth + 77 };

		for (size_t j = 0; j < sizeof(walked) / sizeof(walked[0]); j++)
			keep(walked[j], depth);
	}
	check(!FRAME_IS_MARK(FIRST) && !FRAME_IS_MARK(FRAME_ADDRESS) &&
	      FRAME_IS_MARK(FRAME_CUT(1)));
	return check_done();
}
