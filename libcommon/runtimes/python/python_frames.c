// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_frames.h"

#include <string.h>

#include "runtimes/python/python.h"
#include "runtimes/python/python_image.h"
#include "runtimes/python_abi.h"
#include "stacks_abi.h"

/*
 * A stack in two parts. Calls of the interpreter's loop and groups of Python frames correspond one
 * to one from the root on: at the leaf, a call may have no frame yet or no longer. Where the native
 * stack did not come to its root, they correspond from the leaf on.
 *
 * A greenlet has frames of its own, and runs on the machine's stack of the greenlet that has
 * started it: calls from its start on, to the root, are those of greenlets that wait. Their frames
 * are not in the thread's list.
 */
struct parts {
	const uint64_t *native, *python;
	uint32_t nr_native, nr_python;
	uint32_t calls, groups; /* calls: of the running greenlet, */
	uint32_t other_calls;   /* and of those that wait */
	bool from_leaf;
	bool keep_native;
};

static bool is_loop(const struct modules *modules, uint64_t frame)
{
	const struct module *module =
		frame & FRAME_ADDRESS ? NULL : modules_get(modules, FRAME_MODULE(frame));

	const struct python_image *image =
		module ? runtime_image(&module->runtime, &python_runtime) : NULL;

	return image && python_image_is_loop(image, FRAME_OFFSET(frame) - !!(frame & FRAME_CALL));
}

static bool is_greenlet(const struct modules *modules, uint64_t frame)
{
	const struct module *module =
		frame & FRAME_ADDRESS ? NULL : modules_get(modules, FRAME_MODULE(frame));
	const char *name = module ? strrchr(module->path, '/') : NULL;

	return name && !strncmp(name, "/_greenlet.", strlen("/_greenlet."));
}

/*
 * Calls to the leaf of greenlet's functions are the running greenlet's, if there are as many as it
 * has groups of frames. If there are fewer, those functions have not started it, but called it, or
 * are about to switch to another one.
 */
static void count_calls(struct parts *p, const struct modules *modules)
{
	bool started = false;

	for (uint32_t i = 0; i < p->nr_native; i++) {
		started |= p->groups && p->calls >= p->groups && is_greenlet(modules, p->native[i]);
		if (is_loop(modules, p->native[i]))
			(*(started ? &p->other_calls : &p->calls))++;
	}
	p->from_leaf &= !started;
}

static struct parts parts_of(const struct modules *modules, const uint64_t *frames, uint32_t nr,
			     bool is_whole)
{
	struct parts p = { .native = frames, .from_leaf = !is_whole };

	while (p.nr_native < nr && !FRAME_IS_PYTHON(frames[p.nr_native]))
		p.nr_native++;
	p.python = frames + p.nr_native;
	p.nr_python = nr - p.nr_native;
	for (uint32_t i = 0; i < p.nr_python; i++)
		p.groups += !!(p.python[i] & PYTHON_LEAF);
	count_calls(&p, modules);
	return p;
}

struct writer {
	uint64_t *to;
	uint32_t nr;
	const struct parts *parts;
	const struct python_names *names;
	uint32_t next;  /* of the Python frames */
	uint32_t named; /* calls in whose place stand functions that are all known */
};

static void put(struct writer *w, uint64_t frame)
{
	w->to[w->nr++] = frame;
}

/*
 * the next group, up to the next one's leaf, but for what Python itself does not show. Are all of
 * its functions known?
 */
static bool put_group(struct writer *w)
{
	const struct parts *p = w->parts;
	bool known = true;

	do {
		const struct python_code *code =
			python_names_get(w->names, PYTHON_LOW(p->python[w->next]));

		known &= code != NULL;
		if (!python_names_is_hidden(code))
			put(w, p->python[w->next]);
		w->next++;
	} while (w->next < p->nr_python && !(p->python[w->next] & PYTHON_LEAF));
	return known;
}

/* the frames of the call-th call of the loop, counted from the leaf; false: there are none */
static bool put_call(struct writer *w, uint32_t call)
{
	const struct parts *p = w->parts;

	if (w->next == p->nr_python || call >= p->calls ||
	    (!p->from_leaf && p->calls - call > p->groups))
		return false;
	/* groups whose calls are not there, at the leaf */
	if (!p->from_leaf && !call)
		for (uint32_t more = p->calls; more < p->groups; more++)
			put_group(w);
	w->named += put_group(w);
	return true;
}

static void place(struct writer *w, const struct modules *modules)
{
	const struct parts *p = w->parts;
	uint32_t call = 0;

	for (uint32_t i = 0; i < p->nr_native; i++) {
		bool loop = is_loop(modules, p->native[i]);

		if (!(loop && put_call(w, call)) || p->keep_native)
			put(w, p->native[i]);
		call += loop;
	}
	while (w->next < p->nr_python)
		put_group(w);
}

uint32_t python_frames_place(const void *names, const struct modules *modules,
			     const uint64_t *frames, uint32_t nr, bool is_whole, bool keep_native,
			     uint64_t *to, struct runtime_calls *calls)
{
	struct parts parts = parts_of(modules, frames, nr, is_whole);
	struct writer w = { .to = to, .parts = &parts, .names = names };

	parts.keep_native = keep_native;
	if (to)
		place(&w, modules);
	*calls = (struct runtime_calls){ .all = parts.calls + parts.other_calls, .named = w.named };
	return w.nr;
}
