/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view draws, made of a report's entries: their tree, or their functions and texts. Only
 * what is shown is made.
 */
#ifndef EHPERF_LIVE_PICTURE_H
#define EHPERF_LIVE_PICTURE_H

#include <regex.h>

#include "report/flame_tree.h"
#include "report/merged_texts.h"
#include "report/stack_functions.h"
#include "report/stack_summary.h"
#include "report/stack_writer.h"

/* a report that is shown, and can be written in any format */
struct live_shown {
	struct stack_writer writer;
	struct stack_summary summary;
	/*
	 * for a tree: the stacks that are not idle, those of threads and processes with the same
	 * labels summed up
	 */
	const struct stack_entry *paths;
	size_t nr_paths;
	/*
	 * Names and sorts .entries, and completes .summary: to be called before these are written,
	 * or their frames read
	 */
	void (*complete)(void *arg);
	void *arg;
	const struct stack_entry *entries; /* once it is called: sorted, */
	size_t nr;
	size_t nr_all;              /* and after them the waits of idle threads, which JSON has */
	struct json_object *start;  /* JSON's first line */
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC */
	struct lanes *lanes;        /* for a timeline until then; NULL: none */
};

/* the threads that have stacks which match, if only such stacks are shown; else all */
struct live_threads {
	bool all;
	uint64_t *ids; /* sorted */
	size_t nr;
};

/* 0 or -ENOMEM */
int live_threads_find(struct live_threads *threads, const struct live_shown *shown);
bool live_threads_has(const struct live_threads *threads, uint32_t pid, uint32_t tid);
void live_threads_free(struct live_threads *threads);

struct picture {
	const struct live_shown *shown;
	bool has_tree, has_texts;
	/* the tree: */
	struct flame_tree tree;
	double (*totals)[NR_FLAME_SIDES];
	uint64_t *ids; /* of each node: the same for the same callers in each picture */
	/* its callees, the hottest first: sorted[first[node]] up to first[node + 1] */
	uint32_t *sorted, *first;
	/* texts: */
	struct stack_functions functions;
	struct merged_texts *texts; /* sorted */
	size_t nr_texts, nr_functions;
	uint32_t *order; /* of functions */
	uint64_t sum;
	/* what matches: of each label of the tree; of each of the texts' lines */
	bool *labels, *lines;
	double matching; /* the share of the stacks in which something matches */
};

/* The picture is {} at first. 0 or -ENOMEM */
int picture_need_tree(struct picture *picture, const struct live_shown *shown);
int picture_need_texts(struct picture *picture, const struct live_shown *shown);
/* Sets what matches, of what there is; NULL: nothing does. 0 or -ENOMEM */
int picture_match(struct picture *picture, const regex_t *pattern);
void picture_free(struct picture *picture);

/* a node's name and kind; the root's is "all" */
const char *picture_name(const struct picture *picture, uint32_t node);
enum frame_kind picture_kind(const struct picture *picture, uint32_t node);
bool picture_matches(const struct picture *picture, uint32_t node);
bool picture_text_matches(const struct picture *picture, const struct merged_text *text);
/* not 0, and the same in each picture */
uint64_t picture_text_id(const struct picture *picture, const struct merged_text *text);
uint64_t picture_function_id(const struct picture *picture, uint32_t function);
/* the node with this ID; 0, the root, if there is none */
uint32_t picture_find(const struct picture *picture, uint64_t id);

#endif
