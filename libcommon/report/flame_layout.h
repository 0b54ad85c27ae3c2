/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the frames of a flame graph are: the widest callee leftmost, beginning with the root. */
#ifndef EHPERF_REPORT_FLAME_LAYOUT_H
#define EHPERF_REPORT_FLAME_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "report/flame_tree.h"

struct flame_box {
	uint32_t node; /* the first one, if .nr is more than 1 */
	uint32_t nr; /* how many callees of one caller share the box, because each is too narrow */
	uint32_t depth;  /* 0: the root */
	double x, width; /* shares of the whole */
	double value[NR_FLAME_SIDES];
};

/*
 * A malloc()ed array of *nr boxes that are at least as wide as `least`, a share of the whole,
 * callers first; by the value of FLAME_NOW. NULL without memory
 */
struct flame_box *flame_layout(const struct flame_tree *tree, double least, size_t *nr);

#endif
