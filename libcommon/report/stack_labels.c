// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/recent.h"
#include "base/text.h"
#include "report/escape.h"
#include "report/frame_names.h"
#include "report/stack_paths.h"

struct known_frame {
	struct frame_key key; /* .kernel: KIND_KERNEL, KIND_OFF_CPU, or 0 */
	UT_hash_handle hh;
	uint32_t nr;        /* of its labels: the functions inlined in it are frames of their own */
	uint32_t numbers[]; /* root first */
};

static int append(struct stack_labels *l, uint32_t number)
{
	if (array_reserve(&l->numbers, &l->room, l->nr + 1))
		return -ENOMEM;
	l->numbers[l->nr++] = number;
	return 0;
}

enum frame_kind stack_labels_kind(const struct frame_name *name, uint64_t frame)
{
	return name->inlined           ? KIND_INLINED
	       : name->runtime         ? KIND_RUNTIME
	       : frame & FRAME_ADDRESS ? KIND_JIT
	       : frame & FRAME_BY_FP   ? KIND_BY_FP
				       : KIND_USER;
}

static int add_label(struct stack_labels *l, const struct frame_key *key,
		     const struct frame_name *name, uint32_t *number)
{
	struct label label = { .kind = key->kernel };
	struct text *text = text_begin();
	int error;

	if (!text)
		return -ENOMEM;
	frame_name_print(text->out, name);
	label.text = text_end(text);
	if (!label.text)
		return -ENOMEM;
	if (!key->kernel)
		label.kind = stack_labels_kind(name, key->frame);
	error = labels_add(l->labels, &label, number);
	free(label.text);
	return error;
}

/* adds the labels of a frame that has not been named yet; NULL: no memory */
static struct known_frame *name_frame(struct stack_labels *l, const struct frame_key *key,
				      uint32_t pid)
{
	struct frame_name all[MAX_FRAME_NAMES];
	size_t nr = frame_names_of(&l->writer->names, pid, key->frame, key->kernel, all);
	struct known_frame *known;

	known = calloc(1, sizeof(*known) + nr * sizeof(known->numbers[0]));
	if (!known)
		return NULL;
	known->key = *key;
	for (known->nr = 0; known->nr < nr; known->nr++) {
		if (add_label(l, key, &all[nr - 1 - known->nr], &known->numbers[known->nr])) {
			free(known);
			return NULL;
		}
	}
	return known;
}

static int append_frame(struct stack_labels *l, uint64_t frame, uint32_t pid, bool kernel,
			bool upside_down)
{
	struct frame_key key = frame_key_of(pid, frame, kernel);
	struct known_frame *known;
	struct recent_pair *recent;
	bool is_recent;

	if (kernel)
		key.kernel = l->off_cpu ? KIND_OFF_CPU : KIND_KERNEL;
	recent = recent_place(l->recent, (uint64_t)key.kernel << 32 | key.pid, frame, &is_recent);
	if (is_recent)
		known = (struct known_frame *)(uintptr_t)recent->value;
	else
		HASH_FIND(hh, l->known, &key, sizeof(key), known);
	if (!known) {
		known = name_frame(l, &key, pid);
		if (!known)
			return -ENOMEM;
		HASH_ADD(hh, l->known, key, sizeof(known->key), known);
	}
	recent->value = (uintptr_t)known;
	for (uint32_t i = 0; i < known->nr; i++)
		if (append(l, known->numbers[upside_down ? known->nr - 1 - i : i]))
			return -ENOMEM;
	return 0;
}

/*
 * Appends a frame that is only a name; key: the thread, if it is kept apart from others of this
 * name, else NULL
 */
static int append_name(struct stack_labels *l, const char *name, const struct stack_key *key)
{
	struct label label = { .kind = KIND_THREAD };
	struct text *text = text_begin();
	uint32_t number;
	int error;

	if (!text)
		return -ENOMEM;
	print_escaped(text->out, name);
	label.text = text_end(text);
	if (!label.text)
		return -ENOMEM;
	if (key) {
		label.pid = key->pid;
		label.tid = key->tid;
	}
	error = labels_add(l->labels, &label, &number);
	free(label.text);
	return error ? error : append(l, number);
}

/* upside down, as in folded output: the waker's leaf is next to that of the thread that it woke */
static int append_waker(struct stack_labels *l, const struct stack_entry *waker)
{
	const struct stack_frames *user = waker->user, *kernel = waker->kernel;
	int error = append_name(l, "--", NULL);
	bool off_cpu = l->off_cpu;

	l->off_cpu = false; /* it ran */
	for (uint32_t i = kernel ? stack_first_kernel_frame(l->writer, kernel) : 0;
	     kernel && i < kernel->nr && !error; i++)
		error = append_frame(l, kernel->frames[i], waker->key.pid, true, true);
	for (uint32_t i = 0; user && i < user->nr && !error; i++)
		error = append_frame(l, user->frames[i], waker->key.pid, false, true);
	l->off_cpu = off_cpu;
	return error ? error
		     : append_name(l,
				   waker->key.flags & STACK_INTERRUPT ? "[interrupt]"
								      : stack_entry_thread(waker),
				   NULL);
}

int stack_labels_of(struct stack_labels *l, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;
	uint32_t first = kernel ? stack_first_kernel_frame(l->writer, kernel) : 0;
	int error;

	l->nr = 0;
	error = append_name(l, stack_entry_thread(entry), l->by_thread ? &entry->key : NULL);
	if (!error && l->writer->root)
		error = append_name(l, l->writer->root(entry), NULL);
	for (uint32_t i = user ? user->nr : 0; i-- > 0 && !error;)
		error = append_frame(l, user->frames[i], entry->key.pid, false, false);
	for (uint32_t i = kernel ? kernel->nr : 0; i-- > first && !error;)
		error = append_frame(l, kernel->frames[i], entry->key.pid, true, false);
	return error || !entry->waker ? error : append_waker(l, entry->waker);
}

/* The numbers of labels that are kept here are not valid any more. */
static void forget_frames(struct stack_labels *l)
{
	hash_free_all(l->known);
	memset(l->recent, 0, sizeof(l->recent));
}

void stack_labels_free(struct stack_labels *l)
{
	forget_frames(l);
	free(l->numbers);
}

/* ---- the tree of all ---- */

static int add_to_tree(struct stack_labels *l, struct flame_tree *tree,
		       const struct stack_entry *path, double value)
{
	int error = stack_labels_of(l, path);

	if (!error)
		error = flame_tree_add(tree, l->numbers, l->nr, FLAME_NOW, value);
	if (!error)
		error = flame_tree_bound(tree);
	if (tree->labels != l->labels) {
		forget_frames(l);
		l->labels = tree->labels;
	}
	return error;
}

int stack_labels_tree(struct flame_tree *tree, const struct stack_writer *writer,
		      const struct measure *measure, const struct stack_entry *entries, size_t nr,
		      bool by_thread)
{
	struct stack_labels l = { .writer = writer,
				  .off_cpu = measure->is_time,
				  .by_thread = by_thread };
	struct stack_paths paths = { .writer = writer, .by_thread = by_thread };
	double *values = calloc(nr + 1, sizeof(*values)); /* of the paths */
	int error = values ? flame_tree_init(tree) : -ENOMEM;
	uint32_t path;

	if (error) {
		free(values);
		return error;
	}
	l.labels = tree->labels;
	for (size_t i = 0; i < nr && !error; i++) {
		error = stack_paths_find(&paths, &entries[i], &path);
		if (!error)
			values[path] += measure->value(&entries[i].value);
	}
	for (size_t i = 0; i < paths.nr && !error; i++)
		error = add_to_tree(&l, tree, &paths.all[i], values[i]);
	stack_paths_free(&paths);
	stack_labels_free(&l);
	free(values);
	if (error)
		flame_tree_free(tree);
	return error;
}
