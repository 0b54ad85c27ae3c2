/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of a process's JIT code, by address and time, from the files that its runtime writes: a
 * perf map (perf_map.h) or a jitdump (jitdump.h). Code may replace older code at its address, and
 * may move.
 */
#ifndef EHPERF_RUNTIMES_JIT_NAMES_H
#define EHPERF_RUNTIMES_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * of one process; when there are more, or they need more than .max_bytes, the older half is
 * forgotten: what came later may lie in its place
 */
#define JIT_MAX_CODES   (1u << 20)
#define JIT_MAX_STRINGS (64u << 20) /* bytes of names */
#define JIT_MAX_NAME    4096        /* bytes; longer names are truncated */

struct jit_code {
	uint64_t start, end;
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC; 0, UINT64_MAX: always */
	/* identifies code that moves, at all its places; 0: it does not move */
	uint64_t index;
	uint32_t name; /* offset in the strings; 0: the name that the index had before */
	/* private */
	uint32_t order;   /* of several codes at one place and time, the highest one is valid */
	uint64_t max_end; /* the largest end in the subtree of this root */
};

struct jit_names {
	/* an interval tree in a sorted array: the middle of a range is its root */
	struct jit_code *codes;
	size_t nr, room, nr_sorted;
	char *strings; /* the first one is "" */
	size_t string_bytes, string_room;
	size_t max_bytes;   /* of memory; 0: no limit but those above */
	uint64_t forgotten; /* codes, for the limits */
	uint64_t bad;       /* lines and records without meaning */
};

/* They are empty then, and keep their .max_bytes. */
void jit_names_free(struct jit_names *names);
size_t jit_names_bytes(const struct jit_names *names);

/*
 * Adds code. name: length bytes, or NULL for code whose index has had a name before. 0 or -ENOMEM
 */
int jit_names_add(struct jit_names *names, const struct jit_code *code, const char *name,
		  size_t length);

/*
 * The name of the code at addr at that time (UINT64_MAX: the last that was there), or NULL. Valid
 * until the next call
 */
const char *jit_names_find(struct jit_names *names, uint64_t addr, uint64_t time_ns,
			   uint64_t *start);

#endif
