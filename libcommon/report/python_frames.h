/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts Python frames in their places among a stack's native frames. The kernel records them behind the native frames
 * (python_abi.h). Each call of _PyEval_EvalFrameDefault() runs the frames from one PYTHON_LEAF up to the next.
 */
#ifndef EHPERF_REPORT_PYTHON_FRAMES_H
#define EHPERF_REPORT_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stack_entry.h"
#include "unwind/modules.h"
#include "unwind/python_names.h"

/* stacks, and entries of wakers, that were made; {} at first */
struct placed_stacks {
	void **all;
	size_t nr, room;
	/* calls of the interpreter's loop, and those that were replaced by functions with names; weighted by stacks' counts */
	uint64_t calls, named;
};

struct python_source {
	const struct modules *modules;
	const struct python_names *names;
	bool keep_native;
};

/*
 * Replaces user stacks with Python frames, of each entry and its waker, by stacks in which the Python frames replace the
 * interpreter's calls, or with keep_native come before them. 0 or -ENOMEM. The new stacks are valid until placed_stacks_free().
 */
int python_frames_place(struct placed_stacks *placed, const struct python_source *from, struct stack_entry *entries,
			size_t nr);
void placed_stacks_free(struct placed_stacks *placed);

#endif
