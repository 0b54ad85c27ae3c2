// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/flame_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"

int flame_tree_init(struct flame_tree *tree)
{
	*tree = (struct flame_tree){ .labels = labels_new() };
	if (!tree->labels || array_reserve(&tree->nodes, &tree->room, 1)) {
		flame_tree_free(tree);
		return -ENOMEM;
	}
	tree->nodes[0] = (struct flame_node){};
	tree->nr = 1;
	return 0;
}

void flame_tree_free(struct flame_tree *tree)
{
	labels_free(tree->labels);
	free(tree->nodes);
	free(tree->index);
	*tree = (struct flame_tree){};
}

/*
 * ---- finding a callee: open addressing, numbers of nodes; 0, the root, is nobody's callee: free
 * ----
 */

static size_t first_place(const struct flame_tree *tree, uint32_t parent, uint32_t label)
{
	uint64_t hash = ((uint64_t)parent << 32 | label) * 0x9e3779b97f4a7c15;

	return (hash ^ hash >> 32) & (tree->index_size - 1);
}

/* the callee's place in the index, or the free one for it */
static uint32_t *place_of(const struct flame_tree *tree, uint32_t parent, uint32_t label)
{
	size_t at = first_place(tree, parent, label);

	while (tree->index[at] && (tree->nodes[tree->index[at]].parent != parent ||
				   tree->nodes[tree->index[at]].label != label))
		at = (at + 1) & (tree->index_size - 1);
	return &tree->index[at];
}

/* makes an index of this size of all nodes */
static int make_index(struct flame_tree *tree, size_t size)
{
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(tree->index);
	tree->index = index;
	tree->index_size = size;
	for (size_t i = 1; i < tree->nr; i++)
		*place_of(tree, tree->nodes[i].parent, tree->nodes[i].label) = i;
	return 0;
}

static int callee_of(struct flame_tree *tree, uint32_t parent, uint32_t label, uint32_t *node)
{
	uint32_t *place;

	if (2 * tree->nr >= tree->index_size &&
	    make_index(tree, tree->index_size ? 2 * tree->index_size : 1024))
		return -ENOMEM;
	place = place_of(tree, parent, label);
	if (!*place) {
		if (array_reserve(&tree->nodes, &tree->room, tree->nr + 1))
			return -ENOMEM;
		tree->nodes[tree->nr] = (struct flame_node){ .parent = parent, .label = label };
		*place = tree->nr++;
	}
	*node = *place;
	return 0;
}

int flame_tree_add(struct flame_tree *tree, const uint32_t *labels, size_t nr, enum flame_side side,
		   double value)
{
	size_t kept = nr < FLAME_MAX_DEPTH ? nr : FLAME_MAX_DEPTH;
	uint32_t node = 0;

	for (size_t i = 0; i < kept; i++)
		if (callee_of(tree, node, labels[i], &node))
			return -ENOMEM;
	tree->nodes[node].self[side] += value;
	if (kept < nr) {
		tree->nodes[node].left_out[side] += value;
		tree->nodes[node].nr_left_out++;
	}
	return 0;
}

/* ---- leaving out ---- */

double (*flame_tree_totals(const struct flame_tree *tree))[NR_FLAME_SIDES]
{
	double(*totals)[NR_FLAME_SIDES] = calloc(tree->nr, sizeof(*totals));

	for (size_t i = totals ? tree->nr : 0; i-- > 0;)
		for (int side = 0; side < NR_FLAME_SIDES; side++) {
			totals[i][side] += tree->nodes[i].self[side];
			if (i)
				totals[tree->nodes[i].parent][side] += totals[i][side];
		}
	return totals;
}

static int descending(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return order_of(r, l);
}

static double larger(const double total[NR_FLAME_SIDES])
{
	return total[FLAME_NOW] > total[FLAME_BEFORE] ? total[FLAME_NOW] : total[FLAME_BEFORE];
}

/*
 * The value that a node must exceed to be kept, so that no more than `max` are. A callee has no
 * more than its caller, so no kept node loses its caller.
 */
static int threshold_for(const struct flame_tree *tree, double (*totals)[NR_FLAME_SIDES],
			 size_t max, double *threshold)
{
	double *sorted = malloc(tree->nr * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nr; i++)
		sorted[i] = larger(totals[i]);
	qsort(sorted, tree->nr, sizeof(*sorted), descending);
	*threshold = sorted[max];
	free(sorted);
	return 0;
}

/* adds what a node has to its caller, as left out */
static void leave_out(struct flame_node *caller, const struct flame_node *node)
{
	for (int side = 0; side < NR_FLAME_SIDES; side++) {
		caller->self[side] += node->self[side];
		caller->left_out[side] += node->self[side];
	}
	caller->nr_left_out += node->nr_left_out + 1;
}

int flame_tree_prune(struct flame_tree *tree, size_t max)
{
	double(*totals)[NR_FLAME_SIDES], threshold;
	uint32_t *moved;
	size_t kept = 1;
	int error;

	if (tree->nr <= max)
		return 0;
	totals = flame_tree_totals(tree);
	moved = calloc(tree->nr, sizeof(*moved));
	error = totals && moved ? threshold_for(tree, totals, max, &threshold) : -ENOMEM;
	/* leaves first, so that what is left out arrives at a node that is kept */
	for (size_t i = tree->nr; !error && i-- > 1;)
		if (larger(totals[i]) <= threshold)
			leave_out(&tree->nodes[tree->nodes[i].parent], &tree->nodes[i]);
	for (size_t i = 1; !error && i < tree->nr; i++) {
		if (larger(totals[i]) <= threshold)
			continue;
		tree->nodes[kept] = tree->nodes[i];
		tree->nodes[kept].parent = moved[tree->nodes[i].parent];
		moved[i] = kept++;
	}
	free(totals);
	free(moved);
	if (error)
		return error;
	tree->nr = kept;
	return make_index(tree, tree->index_size);
}

static int show_left_out(struct flame_tree *tree, uint32_t caller)
{
	const uint32_t nr_frames = tree->nodes[caller].nr_left_out;
	struct label label = { .kind = KIND_LEFT_OUT };
	uint32_t number, node;
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu32 " frame%s left out", nr_frames,
		 nr_frames > 1 ? "s" : "");
	label.text = text;
	if (labels_add(tree->labels, &label, &number) || callee_of(tree, caller, number, &node))
		return -ENOMEM;
	for (int side = 0; side < NR_FLAME_SIDES; side++) {
		tree->nodes[node].self[side] = tree->nodes[caller].left_out[side];
		tree->nodes[caller].self[side] -= tree->nodes[caller].left_out[side];
	}
	return 0;
}

int flame_tree_show_left_out(struct flame_tree *tree)
{
	int error = 0;

	for (size_t i = 0, nr = tree->nr; i < nr && !error; i++)
		if (tree->nodes[i].nr_left_out)
			error = show_left_out(tree, i);
	return error;
}

/* replaces the labels by those that nodes have */
static int drop_labels(struct flame_tree *tree)
{
	struct labels *labels = labels_new();
	int error = labels ? 0 : -ENOMEM;

	for (size_t i = 1; i < tree->nr && !error; i++)
		error = labels_add(labels, labels_get(tree->labels, tree->nodes[i].label),
				   &tree->nodes[i].label);
	if (error) {
		labels_free(labels);
		return error;
	}
	labels_free(tree->labels);
	tree->labels = labels;
	return make_index(tree, tree->index_size);
}

int flame_tree_bound(struct flame_tree *tree)
{
	size_t max = FLAME_MAX_NODES / 2;
	int error = 0;

	if (tree->nr <= FLAME_MAX_NODES && labels_bytes(tree->labels) <= FLAME_MAX_LABEL_BYTES)
		return 0;
	do {
		/* exactly so many may be left, and each round must leave fewer */
		if (tree->nr <= max)
			max = tree->nr / 2;
		error = flame_tree_prune(tree, max);
		if (!error)
			error = drop_labels(tree);
	} while (!error && labels_bytes(tree->labels) > FLAME_MAX_LABEL_BYTES / 2 && tree->nr > 1);
	return error;
}
