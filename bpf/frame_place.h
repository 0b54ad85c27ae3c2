/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the frames of a stack are kept, for the kernel and user space. If there are more than
 * `depth` frames, those at both ends are kept. The first frames are at their number. The last
 * ROOT_FRAMES() places are a ring: each further frame replaces the frame that came ROOT_FRAMES()
 * frames before.
 */
#ifndef EHPERF_FRAME_PLACE_H
#define EHPERF_FRAME_PLACE_H

#include <linux/types.h>

/*
 * how many frames of the root's end are kept of a stack that is deeper; the leaf's end gets the
 * rest
 */
#define ROOT_FRAMES(depth) ((depth) < 256 ? (depth) / 2 : 128)

/*
 * the place of frame number nr, counted from the leaf's 0; `depth` itself: it has none. depth > 0
 */
static inline __attribute__((always_inline)) __u32 frame_place(__u32 nr, __u32 depth)
{
	__u32 ring = ROOT_FRAMES(depth), first = depth - ring;

	if (nr < depth)
		return nr;
	return ring ? first + (nr - first) % ring : depth;
}

#endif
