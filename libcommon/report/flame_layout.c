// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/flame_layout.h"

#include <stdlib.h>

#include "base/order.h"

struct placed {
	const struct flame_node *nodes;
	double (*totals)[NR_FLAME_SIDES];
	double *x; /* of each node, as far as it is drawn */
	uint32_t *depth;
	double least;
	struct flame_box *boxes;
	size_t nr;
};

/*
 * by caller, then the largest first; a caller has a lower number than its callees, so it comes
 * before them
 */
static int in_order(const void *left, const void *right, void *arg)
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct placed *p = arg;

	return order_of(p->nodes[l].parent, p->nodes[r].parent) ?:
	       order_of(p->totals[r][FLAME_NOW], p->totals[l][FLAME_NOW]) ?: order_of(l, r);
}

static void add_value(struct flame_box *box, const double value[NR_FLAME_SIDES])
{
	for (int side = 0; side < NR_FLAME_SIDES; side++)
		box->value[side] += value[side];
}

/* places the callees of one caller, callees[0] to [nr - 1], beside each other */
static void place(struct placed *p, const uint32_t *callees, size_t nr)
{
	uint32_t caller = p->nodes[callees[0]].parent;
	double whole = p->totals[0][FLAME_NOW];
	struct flame_box narrow = { .depth = p->depth[caller] + 1 };
	double x = p->x[caller];

	for (size_t i = 0; i < nr && x >= 0; i++) {
		double value = p->totals[callees[i]][FLAME_NOW];
		double width = whole ? value / whole : 0;

		p->depth[callees[i]] = narrow.depth;
		if (width >= p->least) {
			p->boxes[p->nr++] =
				(struct flame_box){ callees[i], 1, narrow.depth, x, width, {} };
			add_value(&p->boxes[p->nr - 1], p->totals[callees[i]]);
			p->x[callees[i]] = x;
			x += width;
			continue;
		}
		if (!narrow.nr++)
			narrow.node = callees[i];
		add_value(&narrow, p->totals[callees[i]]);
		narrow.width += width;
	}
	narrow.x = x;
	if (narrow.width >= p->least)
		p->boxes[p->nr++] = narrow;
}

static void place_all(struct placed *p, uint32_t *order, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		order[i] = i;
		p->x[i] = -1;
	}
	p->x[0] = 0;
	p->boxes[p->nr++] = (struct flame_box){ .nr = 1, .width = 1 };
	add_value(&p->boxes[0], p->totals[0]);
	qsort_r(order + 1, nr - 1, sizeof(*order), in_order, p);
	for (size_t i = 1, next; i < nr; i = next) {
		for (next = i + 1; next < nr; next++)
			if (p->nodes[order[next]].parent != p->nodes[order[i]].parent)
				break;
		place(p, order + i, next - i);
	}
}

struct flame_box *flame_layout(const struct flame_tree *tree, double least, size_t *nr)
{
	struct placed p = {
		.nodes = tree->nodes,
		.totals = flame_tree_totals(tree),
		.x = calloc(tree->nr, sizeof(*p.x)),
		.depth = calloc(tree->nr, sizeof(*p.depth)),
		.least = least,
		.boxes = calloc(2 * tree->nr, sizeof(*p.boxes)),
	};
	uint32_t *order = calloc(tree->nr, sizeof(*order));

	if (p.totals && p.x && p.depth && p.boxes && order) {
		place_all(&p, order, tree->nr);
	} else {
		free(p.boxes);
		p.boxes = NULL;
	}
	*nr = p.nr;
	free(p.totals);
	free(p.x);
	free(p.depth);
	free(order);
	return p.boxes;
}
