/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stack as labels, root first: the thread's name, user frames, kernel frames. */
#ifndef EHPERF_REPORT_STACK_LABELS_H
#define EHPERF_REPORT_STACK_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/recent.h"
#include "report/flame_tree.h"
#include "report/stack_entry.h"
#include "report/stack_summary.h"
#include "report/stack_writer.h"

struct known_frame;

struct stack_labels {
	const struct stack_writer *writer;
	struct labels *labels;
	bool off_cpu;   /* kernel frames are where the thread left the CPU */
	bool by_thread; /* the root is the thread, with its IDs; else all threads with its name */
	uint32_t *numbers; /* of the last labelled stack */
	size_t nr;
	/* private */
	size_t room;
	struct known_frame *known;               /* a frame is named once */
	struct recent_pair recent[RECENT_PAIRS]; /* pointers to them, by kind and PID, and frame */
};

/* the kind of a user frame */
enum frame_kind stack_labels_kind(const struct frame_name *name, uint64_t frame);
/* Labels the stack: labels->numbers[] and .nr. 0 or -ENOMEM */
int stack_labels_of(struct stack_labels *labels, const struct stack_entry *entry);
/* Frees what the functions above have made, but not labels->labels. */
void stack_labels_free(struct stack_labels *labels);

/* Adds all entries to a new tree, bounded; the caller frees it. 0 or -ENOMEM */
int stack_labels_tree(struct flame_tree *tree, const struct stack_writer *writer,
		      const struct measure *measure, const struct stack_entry *entries, size_t nr,
		      bool by_thread);

#endif
