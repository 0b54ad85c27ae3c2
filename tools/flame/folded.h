/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as bcc's tools, stackcollapse-*.pl and ours print them: "root;...;leaf COUNT" on a
 * line each.
 */
#ifndef EHPERF_FLAME_FOLDED_H
#define EHPERF_FLAME_FOLDED_H

#include <stdint.h>
#include <stdio.h>

#include "report/flame_tree.h"

/* a line that is longer is not taken */
#define MAX_LINE_BYTES (1 << 20)

struct folded_count {
	uint64_t stacks, bad_lines; /* lines that are stacks; that are neither stacks nor empty */
	uint64_t value;             /* the sum of the stacks' counts */
};

/*
 * Adds the stacks of a file, as the values of this side, each times `scale`. The first frame is a
 * thread's name; "_[k]", "_[j]", "_[i]" at the end of a name are annotations: kernel, JIT, inlined;
 * the frames after a frame "-" are the kernel's. Adds to *count. 0 or -errno
 */
int folded_read(FILE *in, struct flame_tree *tree, enum flame_side side, uint64_t scale,
		struct folded_count *count);

#endif
