/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the frames of a flame graph are: the widest callee leftmost, beginning with the root. */
#ifndef EHPERF_REPORT_FLAME_LAYOUT_H
#define EHPERF_REPORT_FLAME_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "report/flame_tree.h"

struct flame_box {
	uint32_t node;		/* the first of these, if they are several */
	uint32_t nr;		/* callees of one caller that are too narrow on their own: this many */
	uint32_t depth;		/* 0: the root */
	double x, width;	/* shares of the whole */
	double value[NR_FLAME_SIDES];
};

/*
 * A malloc()ed array of *nr boxes that are at least as wide as `least`, a share of the whole, callers
 * first; by the value of FLAME_NOW. NULL without memory
 */
struct flame_box *flame_layout(const struct flame_tree *tree, double least, size_t *nr);

#endif
