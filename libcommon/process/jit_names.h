/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of the code that a process compiled for itself, by address and time, from what its runtime writes:
 * a perf map (perf_map.h) or a jitdump (jitdump.h). Code may lie where other code was before, and may move.
 */
#ifndef EHPERF_PROCESS_JIT_NAMES_H
#define EHPERF_PROCESS_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_MAX_CODES (1u << 20)	/* of one process; the rest is counted */
#define JIT_MAX_STRINGS (64u << 20)	/* bytes of names of one process */
#define JIT_MAX_NAME 4096		/* bytes; what a name has more is cut off */

struct jit_code {
	uint64_t start, end;
	uint64_t from_ns, until_ns;	/* CLOCK_MONOTONIC; 0, UINT64_MAX: always */
	uint64_t index;			/* the same for a function at all its places; 0: it has but this */
	uint32_t name;			/* in the strings; 0: as its index had before */
	/* private */
	uint32_t order;			/* of what lies at one place at one time, the highest is right */
	uint64_t max_end;		/* of the subtree that this one is the root of */
};

struct jit_names {
	struct jit_code *codes;		/* a binary search tree: the middle of a range is the root of it */
	size_t nr, room, nr_sorted;
	char *strings;			/* the first is "" */
	size_t string_bytes, string_room;
	uint64_t refused;		/* codes beyond the limits */
	uint64_t bad;			/* lines and records that say nothing */
};

void jit_names_free(struct jit_names *names);
size_t jit_names_bytes(const struct jit_names *names);

/* name: of length bytes, or NULL for code with an index that had a name before. 0 or -ENOMEM; what is refused is counted */
int jit_names_add(struct jit_names *names, const struct jit_code *code, const char *name, size_t length);

/* The name of what was at addr at that time (UINT64_MAX: last); NULL: none is known. Valid until the next call */
const char *jit_names_find(struct jit_names *names, uint64_t addr, uint64_t time_ns, uint64_t *start);

#endif
