/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each key's stack as numbers of labels, root first: for formats that name a frame once. */
#ifndef EHPERF_WALLPROF_WALL_LABELS_H
#define EHPERF_WALLPROF_WALL_LABELS_H

#include "report/labels.h"
#include "wallprof/wall.h"

struct wall_stack {
	uint32_t *numbers;
	uint32_t nr;
};

struct wall_labels {
	struct labels *labels;
	/* by the keys' numbers; of number 0, and of lost keys, nothing */
	struct wall_stack *stacks;
	size_t nr;
};

/* 0 or -ENOMEM */
int wall_labels_make(struct wall_labels *labels, const struct wall *wall);
void wall_labels_free(struct wall_labels *labels);

#endif
