/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What walks ask of runtimes. The headers in runtimes/ are included here, and in
 * libcommon/runtimes/.
 */
#ifndef EHPERF_RUNTIMES_BPF_H
#define EHPERF_RUNTIMES_BPF_H

#include "runtimes/hotspot.bpf.h"
#include "stack_hash.bpf.h"
#include "walk/state.bpf.h"

/* A frame of an interpreter (RULE_INTERPRETED) was recorded just now: records its function, too. */
static __always_inline void record_function(struct user_walk *u)
{
	CALL(record_method, u);
}

#ifdef __bpf__
/*
 * Adds a word behind the frames of a walk that has ended. There must be fewer than u->near_depth.
 */
static __always_inline void record_user_word(struct user_walk *u, __u64 word)
{
	u->frames[MASKED(u->stack.nr_frames, DEFAULT_DEPTH - 1)] = word;
	u->stack.nr_frames++;
	u->hash = hash_word(u->hash, word);
}

/* Such words were added. The process's memory names them, so that its ID is a part of u->hash. */
static __always_inline void name_functions(struct user_walk *u)
{
	u->stack.id = u->hash ? u->hash : 1;
	u->has_functions = true;
}

#include "runtimes/python.bpf.h"

/*
 * Adds the frames that runtimes keep apart from the stack, behind those of the walk of the running
 * task.
 */
static __always_inline void add_runtime_frames(struct user_walk *u)
{
	add_python_frames(u);
}
#endif

#endif
