/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds the running thread's Python frames to its stack (python_abi.h). What is read is the
 * process's own memory and may be anything: each read may fail, and every loop ends.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_BPF_H
#define EHPERF_RUNTIMES_PYTHON_BPF_H

#include "kernel.bpf.h"
#include "runtimes/python_abi.h"
#include "stack_hash.bpf.h"
#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"
#include "user_registers.bpf.h"

#define PYTHON_FRAME_BYTES 72  /* what of a frame is looked at */
#define MAX_PYTHON_THREADS 512 /* looked through for a thread's state */
#define MAX_INTERPRETERS   64
#define MAX_PYTHON_STATES  4 /* of a thread, in different interpreters */
/*
 * how long the state of a thread without one is not searched for again: doubled each time, because
 * it may get one soon
 */
#define FIRST_VAIN_NS 1000000
#define MAX_VAIN_NS   100000000

struct python_walk {
	struct python_layout layout;
	__u64 frame; /* address of the next one */
	__u64 thread_pointer;
	__u64 interpreter, thread;
	/* the thread's PyThreadState in each interpreter, the newest one's first */
	__u64 states[MAX_PYTHON_STATES];
	__u32 nr_states;
	__u64 stack_pointer; /* the thread's; its stack lies above */
	/*
	 * where on it the last state's leaf-most call of the interpreter's loop is; at first
	 * stack_pointer
	 */
	__u64 inner;
	bool several; /* interpreters */
	bool leaf;    /* the next frame begins a call of the interpreter's loop */
	bool entered; /* this state's leaf-most call was passed */
	/*
	 * a newer interpreter's calls are not within an older one's: which frames belong where is
	 * not known
	 */
	__u32 disordered;
	__u8 bytes[256]; /* of a frame; more, because offsets are masked */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/*
 * a thread's PyThreadState in the only interpreter; 0: it had none, and is not looked for until
 * then
 */
struct python_thread {
	__u64 state, interpreter, until_ns, vain_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* the kernel's TID */
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* ---- the thread's state ---- */

/* One thread, or the next interpreter where the list ends. 1 ends the loop */
static long try_python_thread(__u32 i, struct python_walk **ctx)
{
	struct python_walk *w = *ctx;

	if (!w->thread) {
		if (!w->interpreter)
			return 1;
		w->thread = user_word(w->interpreter + w->layout.interpreter_threads);
		w->interpreter = user_word(w->interpreter + w->layout.interpreter_next);
		w->several |= w->interpreter != 0;
		return 0;
	}
	if (IS_PTHREAD(user_word(w->thread + w->layout.thread_id), w->thread_pointer)) {
		w->states[MASKED(w->nr_states, MAX_PYTHON_STATES - 1)] = w->thread;
		w->nr_states++;
		w->thread = 0; /* one in each interpreter */
		return w->nr_states == MAX_PYTHON_STATES;
	}
	w->thread = user_word(w->thread + w->layout.thread_next);
	return 0;
}

/*
 * Finds w->states. What was found once is tried first from then on: a PyThreadState that was freed
 * has another thread's ID, or none. A new interpreter becomes the first one; where there are
 * several, any thread may have come to any.
 */
static __always_inline bool has_python_states(struct python_walk *w, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &tid), now = {};

	w->thread_pointer = THREAD_POINTER(task);
	w->interpreter = now.interpreter = user_word(w->layout.interpreters);
	if (!now.interpreter)
		return false; /* its main thread makes the first one soon */
	if (known && known->interpreter != now.interpreter)
		known = NULL;
	w->nr_states = 1;
	if (known && known->state) {
		w->states[0] = known->state;
		if (IS_PTHREAD(user_word(known->state + w->layout.thread_id), w->thread_pointer))
			return true;
	} else if (known && bpf_ktime_get_ns() < known->until_ns) {
		return false;
	}
	w->nr_states = 0;
	w->several = false;
	w->thread = 0;
	bpf_loop(MAX_PYTHON_THREADS + MAX_INTERPRETERS, try_python_thread, &w, 0);
	if (!w->several || !w->nr_states) {
		now.state = w->nr_states ? w->states[0] : 0;
		now.vain_ns = known && !known->state ? 2 * known->vain_ns : FIRST_VAIN_NS;
		if (now.vain_ns > MAX_VAIN_NS)
			now.vain_ns = MAX_VAIN_NS;
		now.until_ns = bpf_ktime_get_ns() + now.vain_ns;
		bpf_map_update_elem(&python_threads, &tid, &now, BPF_ANY);
	}
	return w->nr_states != 0;
}

/* ---- frames ---- */

struct python_context {
	struct python_walk *walk;
	struct user_walk *unwind;
};

static __always_inline __u64 word_of_frame(struct python_walk *w, __u8 offset)
{
	return *(loose_u64 *)(w->bytes + MASKED(offset, 127));
}

static __always_inline void record_python_frame(struct user_walk *u, struct python_walk *w)
{
	__u64 code = word_of_frame(w, w->layout.frame_code);
	__u64 at =
		word_of_frame(w, w->layout.frame_instruction) - code - w->layout.code_instructions;
	__u64 frame = FRAME_PYTHON | PYTHON_LOW(code >> 4);
	struct python_strings strings = {};

	frame |= (at < 2 * PYTHON_NO_INDEX ? at / 2 : PYTHON_NO_INDEX) << PYTHON_INDEX_SHIFT;
	if (w->leaf)
		frame |= PYTHON_LEAF;
	record_user_word(u, frame);
	record_user_word(u, bpf_probe_read_user(&strings, sizeof(strings),
						(void *)(code + w->layout.code_strings))
				    ? FRAME_PYTHON
				    : python_identity(&strings));
}

/*
 * The leaf-most call of a state's is at this place of the machine's stack. False: it is not where
 * it must be
 */
static __always_inline bool enters_python(struct python_walk *w, __u64 at)
{
	w->entered = true;
	if (at <= w->inner)
		w->disordered = true;
	w->inner = at;
	return !w->disordered;
}

/* 1 ends the loop */
static long add_python_frame(__u32 i, struct python_context *ctx)
{
	struct python_walk *w = ctx->walk;
	struct user_walk *u = ctx->unwind;
	bool entry;

	if (!w->frame || u->stack.nr_frames + 1 >= u->near_depth ||
	    bpf_probe_read_user(w->bytes, PYTHON_FRAME_BYTES, (void *)w->frame))
		return 1;
	entry = w->bytes[MASKED(w->layout.frame_entry, 127)] == w->layout.entry_mark;
	if (!entry || !w->layout.entry_is_shim)
		record_python_frame(u, w);
	else if (!w->entered && !enters_python(w, w->frame))
		return 1;
	w->leaf = entry;
	w->frame = word_of_frame(w, w->layout.frame_previous);
	return 0;
}

/* The frames of the i-th state. 1 ends the loop */
static long add_python_state(__u32 i, struct python_context *ctx)
{
	struct python_walk *w = ctx->walk;
	__u64 cframe;

	if (i >= w->nr_states)
		return 1;
	w->entered = false;
	w->frame = user_word(w->states[MASKED(i, MAX_PYTHON_STATES - 1)] + w->layout.frame);
	if (w->layout.in_cframe) {
		cframe = w->frame;
		w->frame = user_word(cframe + w->layout.in_cframe - 1);
		if (cframe <= w->stack_pointer) /* 3.11 may have lent the state to another thread */
			w->frame = 0;
		if (w->frame && !enters_python(w, cframe))
			return 1;
	}
	w->leaf = true;
	bpf_loop(DEFAULT_DEPTH, add_python_frame, ctx, 0);
	return w->frame || w->disordered;
}

/*
 * Adds the Python frames of the running task to those of its walk. The stack's ID then counts for
 * this process only, as the addresses of code objects do.
 */
__noinline int add_python_frames(struct user_walk *u)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct published_process *process;
	struct python_context ctx;
	struct python_walk *w;
	__u32 zero = 0, nr;

	if (!u || u->stack.nr_frames > u->near_depth)
		return 0;
	nr = u->stack.nr_frames;
	w = bpf_map_lookup_elem(&python_walks, &zero);
	process = slab_at(u, u->process);
	if (!w || !process || !process->runtimes.python.interpreters)
		return 0;
	w->layout = process->runtimes.python;
	if (!has_python_states(w, task))
		return 0;
	w->inner = w->stack_pointer = PT_REGS_SP((struct pt_regs *)bpf_task_pt_regs(task));
	w->disordered = false;
	ctx.walk = w;
	ctx.unwind = u;
	u->hash = hash_word(u->hash, task->tgid);
	bpf_loop(MAX_PYTHON_STATES, add_python_state, &ctx, 0);
	/*
	 * which frames belong to which call of the interpreter is counted from the root: without
	 * that, there are none
	 */
	if (w->frame || w->disordered) {
		u->stack.nr_frames = nr;
		return 0;
	}
	name_functions(u);
	return 0;
}

#endif
