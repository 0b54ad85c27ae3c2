/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds the running thread's Python frames to its stack (python_abi.h). What is read is the process's own memory and may be
 * anything: each read may fail, and every loop ends.
 */
#ifndef EHPERF_PYTHON_BPF_H
#define EHPERF_PYTHON_BPF_H

#include "kernel.bpf.h"
#include "python_abi.h"
#include "stack_hash.bpf.h"
#include "unwind_lookup.bpf.h"
#include "unwind_state.bpf.h"

#define PYTHON_FRAME_BYTES	72	/* what of a frame is looked at */
#define MAX_PYTHON_THREADS	512	/* looked through for a thread's state */
#define MAX_INTERPRETERS	64
#define CFRAME_CURRENT_FRAME	8
#define NO_STATE_NS		100000000	/* so long a thread without a state is not looked for again */

struct python_walk {
	struct eh_python layout;
	__u64 frame;		/* address of the next one */
	__u64 self;		/* the thread's pthread_t */
	__u64 interpreter, thread;
	bool leaf;		/* the next frame begins a call of the interpreter's loop */
	bool found;
	__u8 bytes[256];	/* of a frame; more, because offsets are masked */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/* where a thread's PyThreadState was found; 0: it had none, at this time */
struct python_thread {
	__u64 state, looked_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);	/* the kernel's TID */
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* the word there; 0: there is none, or it is 0 */
static __always_inline __u64 python_word(__u64 addr)
{
	__u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (void *)addr) ? 0 : word;
}

/* ---- the thread's state ---- */

/* One thread, or the next interpreter where the list ends. 1 ends the loop */
static long try_python_thread(__u32 i, struct python_walk **ctx)
{
	struct python_walk *w = *ctx;

	if (!w->thread) {
		if (!w->interpreter)
			return 1;
		w->thread = python_word(w->interpreter + w->layout.interpreter_threads);
		w->interpreter = python_word(w->interpreter + w->layout.interpreter_next);
		return 0;
	}
	if (python_word(w->thread + w->layout.thread_id) == w->self) {
		w->found = true;
		return 1;
	}
	w->thread = python_word(w->thread + w->layout.thread_next);
	return 0;
}

static __always_inline void find_python_thread(struct python_walk *w)
{
	w->found = false;
	w->thread = 0;
	w->interpreter = python_word(w->layout.interpreters);
	bpf_loop(MAX_PYTHON_THREADS + MAX_INTERPRETERS, try_python_thread, &w, 0);
	if (!w->found)
		w->thread = 0;
}

/*
 * Finds w->thread. What was found once is tried first from then on: a PyThreadState that was freed has another
 * thread's ID, or none.
 */
static __always_inline bool has_python_thread(struct python_walk *w, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &tid), now = {};

	w->self = task->thread.fsbase;	/* pthread_self() */
	if (known && known->state) {
		w->thread = known->state;
		if (python_word(w->thread + w->layout.thread_id) == w->self)
			return true;
	} else if (known && bpf_ktime_get_ns() - known->looked_ns < NO_STATE_NS) {
		return false;
	}
	find_python_thread(w);
	now.state = w->thread;
	now.looked_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&python_threads, &tid, &now, BPF_ANY);
	return w->thread != 0;
}

/* ---- frames ---- */

struct python_context {
	struct python_walk *walk;
	struct eh_unwind *unwind;
};

static __always_inline __u64 word_of_frame(struct python_walk *w, __u8 offset)
{
	return *(__u64 *)(w->bytes + MASKED(offset, 127));
}

static __always_inline void record_python_word(struct eh_unwind *u, __u64 word)
{
	u->frames[MASKED(u->stack.nr_frames, DEFAULT_DEPTH - 1)] = word;
	u->stack.nr_frames++;
	u->hash = hash_word(u->hash, word);
}

static __always_inline void record_python_frame(struct eh_unwind *u, struct python_walk *w)
{
	__u64 code = word_of_frame(w, w->layout.frame_code);
	__u64 at = word_of_frame(w, w->layout.frame_instruction) - code - w->layout.code_instructions;
	__u64 frame = FRAME_PYTHON | PYTHON_LOW(code >> 4);
	struct python_strings strings = {};

	frame |= (at < 2 * PYTHON_NO_INDEX ? at / 2 : PYTHON_NO_INDEX) << PYTHON_INDEX_SHIFT;
	if (w->leaf)
		frame |= PYTHON_LEAF;
	record_python_word(u, frame);
	record_python_word(u, bpf_probe_read_user(&strings, sizeof(strings), (void *)(code + w->layout.code_strings)) ?
			      FRAME_PYTHON : python_identity(&strings));
}

/* 1 ends the loop */
static long add_python_frame(__u32 i, struct python_context *ctx)
{
	struct python_walk *w = ctx->walk;
	struct eh_unwind *u = ctx->unwind;
	bool entry;

	if (!w->frame || u->stack.nr_frames + 1 >= u->near_depth ||
	    bpf_probe_read_user(w->bytes, PYTHON_FRAME_BYTES, (void *)w->frame))
		return 1;
	entry = w->bytes[MASKED(w->layout.frame_entry, 127)] == w->layout.entry_mark;
	if (!entry || !w->layout.entry_is_shim)
		record_python_frame(u, w);
	w->leaf = entry;
	w->frame = word_of_frame(w, w->layout.frame_previous);
	return 0;
}

/*
 * Adds the Python frames of the running task to those of its walk. The stack's ID then counts for this process only, as
 * the addresses of code objects do.
 */
__noinline int add_python_frames(struct eh_unwind *u)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct eh_process *process;
	struct python_context ctx;
	struct python_walk *w;
	__u32 zero = 0, nr;

	if (!u || u->stack.nr_frames > u->near_depth)
		return 0;
	nr = u->stack.nr_frames;
	w = bpf_map_lookup_elem(&python_walks, &zero);
	process = slab_at(u, u->process);
	if (!w || !process || !process->python.interpreters)
		return 0;
	w->layout = process->python;
	if (!has_python_thread(w, task))
		return 0;
	w->frame = python_word(w->thread + w->layout.frame);
	if (w->layout.via_cframe)
		w->frame = python_word(w->frame + CFRAME_CURRENT_FRAME);
	w->leaf = true;
	ctx.walk = w;
	ctx.unwind = u;
	u->hash = hash_word(u->hash, task->tgid);
	bpf_loop(DEFAULT_DEPTH, add_python_frame, &ctx, 0);
	/* which frames belong to which call of the interpreter is counted from the root: without that, there are none */
	if (w->frame) {
		u->stack.nr_frames = nr;
		return 0;
	}
	u->stack.id = u->hash ? u->hash : 1;
	u->has_python = true;
	return 0;
}

#endif
