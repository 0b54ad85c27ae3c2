// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/picture.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "report/flame_data.h"
#include "report/stack_labels.h"

/* ---- threads ---- */

static uint64_t thread_id(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

int live_threads_find(struct live_threads *threads, const struct live_shown *shown)
{
	*threads = (struct live_threads){ .all = !shown->summary.only };
	if (threads->all || !shown->nr_all)
		return 0;
	threads->ids = calloc(shown->nr_all, sizeof(*threads->ids));
	if (!threads->ids)
		return -ENOMEM;
	for (size_t i = 0; i < shown->nr_all; i++) {
		uint64_t id = thread_id(shown->entries[i].key.pid, shown->entries[i].key.tid);

		if (!threads->nr || threads->ids[threads->nr - 1] != id)
			threads->ids[threads->nr++] = id;
	}
	qsort(threads->ids, threads->nr, sizeof(*threads->ids), order_numbers);
	return 0;
}

bool live_threads_has(const struct live_threads *threads, uint32_t pid, uint32_t tid)
{
	uint64_t id = thread_id(pid, tid);

	return threads->all ||
	       (threads->nr && bsearch(&id, threads->ids, threads->nr, sizeof(id), order_numbers));
}

void live_threads_free(struct live_threads *threads)
{
	free(threads->ids);
}

/* ---- the tree ---- */

/* the ID of what has this label and follows what has the other ID */
static uint64_t id_behind(uint64_t id, const struct labels *labels, uint32_t label)
{
	id = (id ^ labels_hash(labels, label)) * 0x9e3779b97f4a7c15;
	return id ^ id >> 32;
}

static int by_caller(const void *left, const void *right, void *arg)
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct picture *p = arg;

	return order_of(p->tree.nodes[l].parent, p->tree.nodes[r].parent) ?:
	       order_of(p->totals[r][FLAME_NOW], p->totals[l][FLAME_NOW]) ?: order_of(l, r);
}

static int sort_callees(struct picture *p)
{
	size_t nr = p->tree.nr;

	p->sorted = calloc(nr + 1, sizeof(*p->sorted));
	p->first = calloc(nr + 1, sizeof(*p->first));
	if (!p->sorted || !p->first)
		return -ENOMEM;
	for (size_t i = 1; i < nr; i++) {
		p->sorted[i - 1] = i;
		p->first[p->tree.nodes[i].parent + 1]++;
	}
	for (size_t i = 0; i < nr; i++)
		p->first[i + 1] += p->first[i];
	qsort_r(p->sorted, nr - 1, sizeof(*p->sorted), by_caller, p);
	return 0;
}

static int name_nodes(struct picture *p)
{
	p->ids = calloc(p->tree.nr, sizeof(*p->ids));
	if (!p->ids)
		return -ENOMEM;
	for (size_t i = 1; i < p->tree.nr; i++)
		p->ids[i] = id_behind(p->ids[p->tree.nodes[i].parent], p->tree.labels,
				      p->tree.nodes[i].label);
	return 0;
}

int picture_need_tree(struct picture *p, const struct live_shown *shown)
{
	int error;

	if (p->has_tree)
		return 0;
	p->shown = shown;
	error = stack_labels_tree(&p->tree, &shown->writer, shown->summary.measure, shown->paths,
				  shown->nr_paths, false);
	if (error)
		return error;
	p->has_tree = true;
	error = flame_data_prepare(&p->tree);
	if (!error)
		p->totals = flame_tree_totals(&p->tree);
	if (!p->totals)
		return -ENOMEM;
	error = sort_callees(p);
	return error ? error : name_nodes(p);
}

const char *picture_name(const struct picture *p, uint32_t node)
{
	return node ? labels_get(p->tree.labels, p->tree.nodes[node].label)->text : "all";
}

enum frame_kind picture_kind(const struct picture *p, uint32_t node)
{
	return node ? labels_get(p->tree.labels, p->tree.nodes[node].label)->kind : KIND_THREAD;
}

bool picture_matches(const struct picture *p, uint32_t node)
{
	return p->labels && node && p->labels[p->tree.nodes[node].label];
}

uint32_t picture_find(const struct picture *p, uint64_t id)
{
	for (size_t i = 1; id && i < p->tree.nr; i++)
		if (p->ids[i] == id)
			return i;
	return 0;
}

/* ---- texts ---- */

int picture_need_texts(struct picture *p, const struct live_shown *shown)
{
	const struct measure *measure = shown->summary.measure;
	int error;

	if (p->has_texts)
		return 0;
	shown->complete(shown->arg);
	p->shown = shown;
	p->functions =
		(struct stack_functions){ .writer = &shown->writer, .off_cpu = measure->is_time };
	p->texts = merged_texts_new();
	if (!p->texts)
		return -ENOMEM;
	p->has_texts = true;
	p->functions.lines = merged_texts_pieces(p->texts);
	error = stack_functions_add_all(&p->functions, p->texts, measure, shown->entries,
					shown->nr);
	if (error)
		return error;
	p->nr_texts = merged_texts_sort(p->texts);
	p->sum = merged_texts_sum(p->texts);
	p->order = stack_functions_sorted(&p->functions, &p->nr_functions);
	return p->order ? 0 : -ENOMEM;
}

uint64_t picture_text_id(const struct picture *p, const struct merged_text *text)
{
	uint64_t id = 0;

	for (uint32_t i = 0; i < text->nr; i++)
		id = id_behind(id, p->functions.lines, text->pieces[i]);
	return id | 1;
}

uint64_t picture_function_id(const struct picture *p, uint32_t function)
{
	return id_behind(0, p->functions.functions, function) | 1;
}

/* ---- searching ---- */

bool picture_text_matches(const struct picture *p, const struct merged_text *text)
{
	for (uint32_t i = 0; p->lines && i < text->nr; i++)
		if (p->lines[text->pieces[i]])
			return true;
	return false;
}

static bool *matching(const struct labels *labels, const regex_t *pattern, bool lines)
{
	bool *found = calloc(labels_count(labels) + 1, sizeof(*found));

	for (size_t i = 0; found && i < labels_count(labels); i++) {
		const char *text =
			lines ? stack_functions_text(labels, i) : labels_get(labels, i)->text;

		found[i] = !regexec(pattern, text, 0, NULL, 0);
	}
	return found;
}

static double share_in_tree(const struct picture *p)
{
	bool *inside = calloc(p->tree.nr, sizeof(*inside));
	double sum = 0;

	for (size_t i = 1; inside && i < p->tree.nr; i++) {
		bool within = inside[p->tree.nodes[i].parent], matches = picture_matches(p, i);

		if (matches && !within)
			sum += p->totals[i][FLAME_NOW];
		inside[i] = within || matches;
	}
	free(inside);
	return p->totals[0][FLAME_NOW] ? sum / p->totals[0][FLAME_NOW] : 0;
}

static double share_in_texts(const struct picture *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_texts; i++) {
		const struct merged_text *text = merged_texts_get(p->texts, i);

		if (picture_text_matches(p, text))
			sum += text->value;
	}
	return p->sum ? (double)sum / p->sum : 0;
}

int picture_match(struct picture *p, const regex_t *pattern)
{
	free(p->labels);
	free(p->lines);
	p->labels = p->lines = NULL;
	p->matching = 0;
	if (!pattern)
		return 0;
	if (p->has_texts) {
		p->lines = matching(p->functions.lines, pattern, true);
		if (!p->lines)
			return -ENOMEM;
		p->matching = share_in_texts(p);
	}
	if (p->has_tree) {
		p->labels = matching(p->tree.labels, pattern, false);
		if (!p->labels)
			return -ENOMEM;
		p->matching = share_in_tree(p);
	}
	return 0;
}

void picture_free(struct picture *p)
{
	if (p->has_tree)
		flame_tree_free(&p->tree);
	if (p->has_texts) {
		stack_functions_free(&p->functions);
		merged_texts_free(p->texts);
	}
	free(p->totals);
	free(p->ids);
	free(p->sorted);
	free(p->first);
	free(p->order);
	free(p->labels);
	free(p->lines);
	*p = (struct picture){};
}
