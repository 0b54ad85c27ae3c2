// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/namer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/shared_text.h"
#include "process/clock.h"
#include "process/workers.h"
#include "report/namer_work.h"

#define AREA_BYTES (16 << 20)
#define MAX_KNOWN_BYTES (128 << 20)
#define WAIT_MS 20
/* in all, of what was given up: after that, nothing new is named */
#define MAX_VAIN_NS 1000000000

/* of one file, or of one process's code in no file: they are read together, and given up together */
struct source {
	uint64_t key;		/* module ID, or JIT_SOURCE | PID */
	int error;		/* 0, or why it was given up */
	uint64_t *wanted;	/* frames to ask for */
	size_t nr, room;
	UT_hash_handle hh;
};
#define JIT_SOURCE (1ULL << 32)

struct known {
	struct {
		uint64_t source, frame;
	} key;
	struct named_frame found;
	char *symbol, *raw;	/* shared_text; NULL: none */
	UT_hash_handle hh;
};

struct namer {
	const struct frame_names *names;
	struct namer_options options;
	struct workers *workers;
	bool *seen;		/* [module ID]: a stack with it was */
	size_t nr_seen, seen_room;
	struct source *sources;
	struct known *known;
	size_t known_bytes;
	char *last_symbol;	/* of what was taken last: the next frame often is of the same function */
	bool interrupted;
	uint64_t vain_ns;
	size_t nr_given_up;
	const struct source *given_up;	/* the last one */
	struct namer_request request;
};

#define PREPARE (1ULL << 32)	/* in a job's tag, with the module's ID: nobody waits for it */
#define ASK (1ULL << 33)

int namer_new(struct namer **namer, const struct frame_names *names, const struct namer_options *options)
{
	/* it sleeps for its demangler, too */
	struct worker_limits limits = { .sleep_ms = 300, .cpu_ms = 700, .bytes = (size_t)512 << 20, .free = true };
	struct namer *n = calloc(1, sizeof(*n));
	int error;

	if (!n)
		return -ENOMEM;
	n->names = names;
	n->options = *options;
	if (options->slow)
		limits.sleep_ms = limits.cpu_ms = 120000;
	error = workers_new(&n->workers, 1, AREA_BYTES, &limits, namer_work, (void *)names);
	if (error)
		free(n);
	else
		*namer = n;
	return error;
}

void namer_free(struct namer *n)
{
	struct source *source, *next_source;
	struct known *known, *next;

	if (!n)
		return;
	HASH_ITER(hh, n->sources, source, next_source) {
		HASH_DEL(n->sources, source);
		free(source->wanted);
		free(source);
	}
	HASH_ITER(hh, n->known, known, next) {
		HASH_DEL(n->known, known);
		shared_text_release(known->symbol);
		shared_text_release(known->raw);
		free(known);
	}
	shared_text_release(n->last_symbol);
	workers_free(n->workers);
	free(n->seen);
	free(n);
}

/* ---- what is known ---- */

static uint64_t source_key(pid_t pid, uint64_t frame)
{
	return frame & FRAME_ADDRESS ? JIT_SOURCE | (uint32_t)pid : FRAME_MODULE(frame);
}

static struct known *find(const struct namer *n, uint64_t source, uint64_t frame)
{
	struct known key = { .key = { source, frame } }, *known;

	HASH_FIND(hh, n->known, &key.key, sizeof(key.key), known);
	return known;
}

/* a user of the last symbol if it is the same. NULL: none, or no memory */
static char *symbol_like_last(struct namer *n, const char *symbol)
{
	if (!symbol)
		return NULL;
	if (!n->last_symbol || strcmp(n->last_symbol, symbol)) {
		shared_text_release(n->last_symbol);
		n->last_symbol = shared_text_new(symbol);
		n->known_bytes += strlen(symbol);
	}
	return n->last_symbol ? shared_text_share(n->last_symbol) : NULL;
}

/* 0 or -ENOMEM */
static int know(struct namer *n, uint64_t source, const struct named_frame *found, const char *symbol, const char *raw)
{
	struct known *known;

	if (find(n, source, found->frame))
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key.source = source;
	known->key.frame = found->frame;
	known->found = *found;
	known->symbol = symbol_like_last(n, symbol);
	known->raw = raw ? shared_text_new(raw) : NULL;
	n->known_bytes += sizeof(*known) + (raw ? strlen(raw) : 0);
	HASH_ADD(hh, n->known, key, sizeof(known->key), known);
	return 0;
}

/* ---- asking the worker ---- */

static struct source *source_of(struct namer *n, uint64_t key)
{
	struct source *source;

	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = key;
	HASH_ADD(hh, n->sources, key, sizeof(source->key), source);
	return source;
}

static bool may_ask(struct namer *n, const struct source *source)
{
	struct pollfd fd = { .fd = n->options.interrupt_fd, .events = POLLIN };

	if (!n->interrupted)
		n->interrupted = poll(&fd, 1, 0) > 0;
	return !source->error && !n->interrupted && n->vain_ns < MAX_VAIN_NS && n->known_bytes < MAX_KNOWN_BYTES;
}

static void give_up(struct namer *n, struct source *source, int error, uint64_t began_ns)
{
	source->error = error;
	n->vain_ns += clock_ns() - began_ns;
	n->nr_given_up++;
	n->given_up = source;
}

/* *answer may be that of PREPARE, which is nothing but its error. False: there is none yet */
static bool take_answer(struct namer *n, struct worker_answer *answer)
{
	struct source *source;

	if (!workers_take(n->workers, answer))
		return false;
	source = answer->tag & PREPARE && answer->error ? source_of(n, answer->tag & ~PREPARE) : NULL;
	if (source)
		give_up(n, source, answer->error, clock_ns());
	return true;
}

void namer_follow(struct namer *n)
{
	struct worker_answer answer;

	while (workers_nr_asked(n->workers) && take_answer(n, &answer))
		;
}

/* How many bytes of the request are to be sent, with so many frames. */
static size_t describe(struct namer *n, uint64_t source, size_t nr_frames)
{
	struct namer_request *r = &n->request;
	const struct module *module = source & JIT_SOURCE ? NULL : modules_get(n->names->modules, source);

	r->pid = source;
	r->module_id = module ? module->id : 0;
	r->file = module && !module->image ? module_file(module) : (struct mapped_file){};
	if (r->file.path) {
		r->key = module->key;
		snprintf(r->path, sizeof(r->path), "%s", r->file.path);
	}
	r->nr = nr_frames;
	return offsetof(struct namer_request, frames[nr_frames]);
}

static int see_module(struct namer *n, uint32_t id)
{
	const struct module *module = modules_get(n->names->modules, id);

	if (id < n->nr_seen && n->seen[id])
		return 0;
	if (array_reserve(&n->seen, &n->seen_room, id + 1))
		return -ENOMEM;
	while (n->nr_seen <= id)
		n->seen[n->nr_seen++] = false;
	n->seen[id] = true;
	if (!module || !module->elsewhere)
		return 0;
	return workers_ask(n->workers, PREPARE | id, &n->request, describe(n, id, 0));
}

int namer_see(struct namer *n, const uint64_t *frames, size_t nr)
{
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++)
		if (!(frames[i] & FRAME_ADDRESS) && !FRAME_IS_CUT(frames[i]))
			error = see_module(n, FRAME_MODULE(frames[i]));
	return error;
}

/* False: it was interrupted, and the worker ended */
static bool await(struct namer *n, struct worker_answer *answer)
{
	struct pollfd fds[] = {
		{ .fd = workers_fd(n->workers), .events = POLLIN },
		{ .fd = n->options.interrupt_fd, .events = POLLIN },
	};

	while (!take_answer(n, answer) || !(answer->tag & ASK)) {
		if (!workers_nr_asked(n->workers))
			return false;
		poll(fds, 2, WAIT_MS);
		if (fds[1].revents)
			n->interrupted = true;
		if (n->interrupted)
			return false;
	}
	return true;
}

/* Takes what the answer names: how many of the frames that were asked for. -errno: it is none, or there is no memory */
static ssize_t take(struct namer *n, const struct source *source, const struct worker_answer *answer)
{
	const char *at = answer->bytes, *end = at + answer->nr;
	struct named_frame found;
	ssize_t nr = 0;

	for (; at < end; nr++) {
		const char *symbol, *raw;

		if ((size_t)(end - at) < sizeof(found))
			return -EBADMSG;
		memcpy(&found, at, sizeof(found));
		symbol = at + sizeof(found);
		if (found.symbol_bytes > end - symbol || found.raw_bytes > end - symbol - found.symbol_bytes)
			return -EBADMSG;
		raw = symbol + found.symbol_bytes;
		at = raw + found.raw_bytes;
		if ((found.symbol_bytes && symbol[found.symbol_bytes - 1]) || (found.raw_bytes && at[-1]))
			return -EBADMSG;
		if (know(n, source->key, &found, found.symbol_bytes ? symbol : NULL, found.raw_bytes ? raw : NULL))
			return -ENOMEM;
	}
	return nr;
}

/* Asks for frames of one source. 0 or -ENOMEM; what is not named is not known afterwards */
static int ask(struct namer *n, struct source *source, const uint64_t *frames, size_t nr)
{
	ssize_t done;

	for (; nr && may_ask(n, source); frames += done, nr -= done) {
		size_t some = nr < MAX_NAMED ? nr : MAX_NAMED;
		struct worker_answer answer = {};
		uint64_t began = clock_ns();

		memcpy(n->request.frames, frames, some * sizeof(*frames));
		if (workers_ask(n->workers, ASK, &n->request, describe(n, source->key, some)))
			return -ENOMEM;
		if (!await(n, &answer))
			return 0;
		done = answer.error ? answer.error : take(n, source, &answer);
		if (done <= 0 || (size_t)done > some) {
			give_up(n, source, answer.error ? answer.error : -EBADMSG, began);
			return done == -ENOMEM ? -ENOMEM : 0;
		}
	}
	return 0;
}

static int want(struct namer *n, pid_t pid, uint64_t frame)
{
	uint64_t key = source_key(pid, frame);
	struct source *source;

	if (find(n, key, frame))
		return 0;
	source = source_of(n, key);
	if (!source || array_reserve(&source->wanted, &source->room, source->nr + 1))
		return -ENOMEM;
	if (!source->nr || source->wanted[source->nr - 1] != frame)
		source->wanted[source->nr++] = frame;
	return 0;
}

static int want_all(struct namer *n, const struct stack_entry *entry)
{
	int error = 0;

	for (uint32_t i = 0; entry->user && i < entry->user->nr && !error; i++)
		/* these have their names */
		if (!FRAME_IS_PYTHON(entry->user->frames[i]) && !FRAME_IS_CUT(entry->user->frames[i]))
			error = want(n, entry->key.pid, entry->user->frames[i]);
	return error;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *l = left, *r = right;

	return *l < *r ? -1 : *l > *r;
}

/* Asks for each of its wanted frames once. */
static int ask_for_wanted(struct namer *n, struct source *source)
{
	size_t kept = 0;
	int error;

	if (!source->nr)
		return 0;
	qsort(source->wanted, source->nr, sizeof(*source->wanted), by_value);
	for (size_t i = 0; i < source->nr; i++)
		if (!i || source->wanted[i] != source->wanted[i - 1])
			source->wanted[kept++] = source->wanted[i];
	error = ask(n, source, source->wanted, kept);
	free(source->wanted);
	source->wanted = NULL;
	source->nr = source->room = 0;
	return error;
}

int namer_learn(struct namer *n, const struct stack_entry *entries, size_t nr)
{
	struct source *source, *next;
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++)
		for (const struct stack_entry *entry = &entries[i]; entry && !error; entry = entry->waker)
			error = want_all(n, entry);
	HASH_ITER(hh, n->sources, source, next)
		if (!error)
			error = ask_for_wanted(n, source);
	return error;
}

/* ---- finding ---- */

static struct frame_name name_of(const struct namer *n, const struct known *known, uint64_t frame)
{
	struct frame_name name = { .file_offset = FRAME_OFFSET(frame) };

	if (frame & FRAME_ADDRESS) {
		name = (struct frame_name){ .address = FRAME_ADDR(frame) };
	} else {
		name.file = modules_get(n->names->modules, FRAME_MODULE(frame));
		name.module = name.file ? name.file->path : NULL;
	}
	if (!known)
		return name;
	name.symbol = known->symbol;
	name.raw_symbol = known->raw;
	name.offset = known->found.offset;
	name.has_vaddr = known->found.has_vaddr;
	name.vaddr = known->found.vaddr;
	name.has_function = known->found.has_function;
	name.function_vaddr = known->found.function_vaddr;
	name.is_jit = known->found.is_jit;
	return name;
}

struct frame_name namer_find(struct namer *n, pid_t pid, uint64_t frame)
{
	uint64_t key = source_key(pid, frame);
	const struct known *known = find(n, key, frame);
	struct source *source = known ? NULL : source_of(n, key);

	if (source && !ask(n, source, &frame, 1))
		known = find(n, key, frame);
	return name_of(n, known, frame);
}

size_t namer_given_up(const struct namer *n, const char **path, int *error)
{
	const struct module *module = NULL;

	if (n->given_up && !(n->given_up->key & JIT_SOURCE))
		module = modules_get(n->names->modules, n->given_up->key);
	*path = module ? module->path : NULL;
	*error = n->given_up ? n->given_up->error : 0;
	return n->nr_given_up;
}
