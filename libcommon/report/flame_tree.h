/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks merged from the root: a node for each distinct beginning of a stack, with the value of the
 * stacks that end there. Memory is bounded: if there are too many nodes or names, those with the
 * smallest values are left out, and their values are added to .left_out of their callers.
 */
#ifndef EHPERF_REPORT_FLAME_TREE_H
#define EHPERF_REPORT_FLAME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "report/labels.h"

/* the two measurements that are compared; FLAME_NOW if there is only one */
enum flame_side { FLAME_NOW, FLAME_BEFORE, NR_FLAME_SIDES };

struct flame_node {
	uint32_t parent;             /* a lower number; nodes[0] is the root of all, and its own */
	uint32_t label;              /* not of the root */
	double self[NR_FLAME_SIDES]; /* of the stacks that end here; of those left out, too: */
	double left_out[NR_FLAME_SIDES]; /* the part of callees that were left out */
	uint32_t nr_left_out;            /* how many nodes these were */
};

#define FLAME_MAX_NODES       (1 << 20)
#define FLAME_MAX_LABEL_BYTES ((size_t)64 << 20)
/* frames of a stack; the leaf's side of deeper ones is left out */
#define FLAME_MAX_DEPTH 4096

struct flame_tree {
	struct flame_node *nodes;
	size_t nr;
	struct labels *labels;
	/* private */
	size_t room;
	uint32_t *index;
	size_t index_size;
};

/* 0 or -ENOMEM */
int flame_tree_init(struct flame_tree *tree);
void flame_tree_free(struct flame_tree *tree);

/*
 * Adds a stack of `nr` labels of tree->labels, root first. Numbers of labels are valid until the
 * next call of flame_tree_bound(). 0 or -ENOMEM
 */
int flame_tree_add(struct flame_tree *tree, const uint32_t *labels, size_t nr, enum flame_side side,
		   double value);

/*
 * Leaves nodes out, if there are so many that the memory is to be bounded; call it now and then. 0
 * or -ENOMEM
 */
int flame_tree_bound(struct flame_tree *tree);

/* Leaves out the nodes with the smallest values, until there are `max` at most. 0 or -ENOMEM */
int flame_tree_prune(struct flame_tree *tree, size_t max);

/*
 * Makes what was left out a callee of its own, a KIND_LEFT_OUT, so that it is drawn. Nothing can be
 * added or left out afterwards. 0 or -ENOMEM
 */
int flame_tree_show_left_out(struct flame_tree *tree);

/*
 * each node's value with that of its callees: a malloc()ed array of tree->nr, or NULL without
 * memory
 */
double (*flame_tree_totals(const struct flame_tree *tree))[NR_FLAME_SIDES];

#endif
