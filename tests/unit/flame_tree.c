// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree that flame graphs are drawn from: sums, and that nothing is lost where it is bounded. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/flame_tree.h"

static uint32_t label_of(struct flame_tree *tree, const char *text)
{
	uint32_t number = UINT32_MAX;

	labels_add(tree->labels, &(struct label){ .text = (char *)text, .kind = KIND_USER },
		   &number);
	return number;
}

/* adds a stack of names of one letter */
static void add(struct flame_tree *tree, const char *stack, enum flame_side side, uint64_t value)
{
	uint32_t numbers[64];
	size_t nr = strlen(stack);

	for (size_t i = 0; i < nr; i++)
		numbers[i] = label_of(tree, (char[]){ stack[i], 0 });
	check(!flame_tree_add(tree, numbers, nr, side, value));
}

/* the node of a stack, or -1 */
static int node_of(const struct flame_tree *tree, const char *stack)
{
	uint32_t at = 0;

	for (; *stack; stack++) {
		uint32_t i = at + 1;

		while (i < tree->nr && (tree->nodes[i].parent != at || i == at ||
					strcmp(labels_get(tree->labels, tree->nodes[i].label)->text,
					       (char[]){ *stack, 0 })))
			i++;
		if (i == tree->nr)
			return -1;
		at = i;
	}
	return at;
}

static double total_of(const struct flame_tree *tree, const char *stack, enum flame_side side)
{
	double(*totals)[NR_FLAME_SIDES] = flame_tree_totals(tree), total;
	int node = node_of(tree, stack);

	total = node < 0 ? UINT64_MAX : totals[node][side];
	free(totals);
	return total;
}

static void test_sums(void)
{
	struct flame_tree tree;

	flame_tree_init(&tree);
	add(&tree, "abc", FLAME_NOW, 5);
	add(&tree, "ab", FLAME_NOW, 2);
	add(&tree, "abd", FLAME_NOW, 1);
	add(&tree, "abc", FLAME_NOW, 10);
	add(&tree, "xbc", FLAME_NOW, 100);
	add(&tree, "abc", FLAME_BEFORE, 7);
	add(&tree, "", FLAME_NOW, 3);
	check(tree.nr == 8, "%zu nodes", tree.nr);
	check(total_of(&tree, "", FLAME_NOW) == 121);
	check(total_of(&tree, "a", FLAME_NOW) == 18);
	check(total_of(&tree, "ab", FLAME_NOW) == 18);
	check(total_of(&tree, "abc", FLAME_NOW) == 15);
	check(total_of(&tree, "abd", FLAME_NOW) == 1);
	check(total_of(&tree, "xbc", FLAME_NOW) == 100, "equal names of other callers are others");
	check(total_of(&tree, "abc", FLAME_BEFORE) == 7 && total_of(&tree, "a", FLAME_BEFORE) == 7);
	check(tree.nodes[node_of(&tree, "ab")].self[FLAME_NOW] == 2, "its own");
	for (size_t i = 1; i < tree.nr; i++)
		check(tree.nodes[i].parent < i);
	flame_tree_free(&tree);
}

static void test_recursion(void)
{
	struct flame_tree tree;

	flame_tree_init(&tree);
	add(&tree, "aaaa", FLAME_NOW, 1);
	add(&tree, "aaa", FLAME_NOW, 1);
	check(tree.nr == 5 && total_of(&tree, "a", FLAME_NOW) == 2 &&
		      total_of(&tree, "aaaa", FLAME_NOW) == 1,
	      "a function that calls itself is a callee of its own");
	flame_tree_free(&tree);
}

static void test_prune(void)
{
	struct flame_tree tree;

	flame_tree_init(&tree);
	add(&tree, "abc", FLAME_NOW, 50);
	add(&tree, "abd", FLAME_NOW, 1);
	add(&tree, "abe", FLAME_NOW, 2);
	add(&tree, "xyz", FLAME_NOW, 3);
	add(&tree, "xyz", FLAME_BEFORE, 60);
	check(!flame_tree_prune(&tree, 7));
	check(tree.nr <= 7, "%zu nodes", tree.nr);
	check(node_of(&tree, "abc") > 0 && node_of(&tree, "abd") < 0 && node_of(&tree, "abe") < 0,
	      "the smallest go");
	check(node_of(&tree, "xyz") > 0, "one that was large on the other side stays");
	check(total_of(&tree, "", FLAME_NOW) == 56 && total_of(&tree, "ab", FLAME_NOW) == 53,
	      "nothing is lost");
	check(tree.nodes[node_of(&tree, "ab")].nr_left_out == 2 &&
	      tree.nodes[node_of(&tree, "ab")].left_out[FLAME_NOW] == 3);
	/* it goes on as before */
	add(&tree, "abd", FLAME_NOW, 4);
	add(&tree, "abc", FLAME_NOW, 1);
	check(total_of(&tree, "abc", FLAME_NOW) == 51 && total_of(&tree, "abd", FLAME_NOW) == 4);
	check(!flame_tree_show_left_out(&tree));
	check(total_of(&tree, "", FLAME_NOW) == 61 && total_of(&tree, "", FLAME_BEFORE) == 60,
	      "nor where it is shown");
	check(!tree.nodes[node_of(&tree, "ab")].self[FLAME_NOW], "what was left out is a callee's");
	flame_tree_free(&tree);
}

static void test_deep(void)
{
	static uint32_t numbers[2 * FLAME_MAX_DEPTH];
	struct flame_tree tree;

	flame_tree_init(&tree);
	for (size_t i = 0; i < 2 * FLAME_MAX_DEPTH; i++)
		numbers[i] = label_of(&tree, "f");
	check(!flame_tree_add(&tree, numbers, 2 * FLAME_MAX_DEPTH, FLAME_NOW, 9));
	check(tree.nr == FLAME_MAX_DEPTH + 1 && total_of(&tree, "", FLAME_NOW) == 9,
	      "the leaf's side is left out");
	check(tree.nodes[tree.nr - 1].left_out[FLAME_NOW] == 9 &&
	      tree.nodes[tree.nr - 1].nr_left_out == 1);
	flame_tree_free(&tree);
}

/* a million stacks that have only their beginning in common */
static void test_bound(void)
{
	struct flame_tree tree;
	size_t most = 0;
	int error = 0;

	flame_tree_init(&tree);
	for (uint32_t i = 0; i < 1000000 && !error; i++) {
		uint32_t numbers[4];
		char text[32];

		numbers[0] = label_of(&tree, "main");
		for (int k = 1; k < 4; k++) {
			snprintf(text, sizeof(text), "f%d_%u", k, i);
			numbers[k] = label_of(&tree, text);
		}
		error = flame_tree_add(&tree, numbers, 4, FLAME_NOW, 1 + (i % 1000 == 0));
		if (!error)
			error = flame_tree_bound(&tree);
		if (tree.nr > most)
			most = tree.nr;
	}
	check(!error && most <= FLAME_MAX_NODES + 4, "%zu nodes at most", most);
	check(labels_bytes(tree.labels) <= FLAME_MAX_LABEL_BYTES, "%zu bytes of labels",
	      labels_bytes(tree.labels));
	check(total_of(&tree, "", FLAME_NOW) == 1001000, "no value is lost");
	flame_tree_free(&tree);
}

/*
 * few stacks, each with a long name and a value of its own: pruning leaves exactly as many nodes as
 * it may
 */
static void test_bound_names(void)
{
	static char text[MAX_LABEL_BYTES];
	struct flame_tree tree;
	int error = 0;

	memset(text, 'f', sizeof(text) - 1);
	flame_tree_init(&tree);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t number;

		snprintf(text, sizeof(text), "%u", i);
		text[strlen(text)] = 'f';
		number = label_of(&tree, text);
		error |= flame_tree_add(&tree, &number, 1, FLAME_NOW, 1 + i);
	}
	check(!error && labels_bytes(tree.labels) > FLAME_MAX_LABEL_BYTES, "%zu bytes of labels",
	      labels_bytes(tree.labels));
	check(!flame_tree_bound(&tree));
	check(labels_bytes(tree.labels) <= FLAME_MAX_LABEL_BYTES / 2, "%zu bytes of labels",
	      labels_bytes(tree.labels));
	check(tree.nr > 1 && total_of(&tree, "", FLAME_NOW) == 20000.0 * 20001 / 2,
	      "%zu nodes; no value is lost", tree.nr);
	flame_tree_free(&tree);
}

int main(void)
{
	test_sums();
	test_recursion();
	test_prune();
	test_deep();
	test_bound();
	test_bound_names();
	return check_done();
}
