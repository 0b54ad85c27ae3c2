// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include "report/frame_names.h"
#include "report/json.h"
#include "report/stack_report.h"
#include "report/stack_writer.h"
#include "stacks_abi.h"
#include "unwind/end_reason.h"

/* ---- one frame ---- */

static void put_build_id(struct json_object *frame, const struct module *module)
{
	char hex[2 * sizeof(module->build_id) + 1] = "";

	for (size_t i = 0; i < module->build_id_bytes; i++)
		sprintf(hex + 2 * i, "%02x", module->build_id[i]);
	if (*hex)
		json_object_object_add(frame, "build_id", json_object_new_string(hex));
}

#define MAX_RAW_SYMBOL 4096 /* bytes; a longer one is left out */

static void put_place(struct json_object *frame, const struct frame_name *name)
{
	if (name->has_vaddr)
		json_object_object_add(frame, "vaddr", json_address(name->vaddr));
	if (name->has_function)
		json_object_object_add(frame, "function_vaddr", json_address(name->function_vaddr));
	if (name->file)
		json_object_object_add(frame, "file_offset", json_number(name->file_offset));
	else
		json_object_object_add(frame, "address", json_address(name->address));
}

struct json_object *stack_json_frame(const struct frame_name *name, uint64_t bits)
{
	struct json_object *frame = json_object_new_object();

	json_add_name(frame, "symbol", name->symbol);
	if (name->cut) {
		json_object_object_add(frame, "cut", json_number(name->cut));
		return frame;
	}
	if (name->raw_symbol && strnlen(name->raw_symbol, MAX_RAW_SYMBOL) < MAX_RAW_SYMBOL)
		json_object_object_add(frame, "raw_symbol", json_name(name->raw_symbol));
	if (!name->inlined && !name->runtime && (name->symbol || name->has_function))
		json_object_object_add(frame, "offset", json_number(name->offset));
	json_add_name(frame, "module", name->module);
	json_add_name(frame, "region", name->region);
	if (name->file)
		put_build_id(frame, name->file);
	if (name->runtime)
		json_object_object_add(frame, "runtime", json_object_new_string(name->runtime));
	else
		put_place(frame, name);
	if (name->is_jit)
		json_object_object_add(frame, "runtime", json_object_new_string("jit"));
	if (name->inlined)
		json_object_object_add(frame, "inlined", json_object_new_boolean(true));
	json_add_name(frame, "source", name->source);
	if (name->line)
		json_object_object_add(frame, "line", json_object_new_int64(name->line));
	if (bits & FRAME_CALL && !name->inlined && !name->runtime)
		json_object_object_add(frame, "call", json_object_new_boolean(true));
	if (name->schedules)
		json_object_object_add(frame, "schedules", json_object_new_boolean(true));
	if (frame_is_by_fp(bits))
		json_object_object_add(frame, "by", json_object_new_string("fp"));
	return frame;
}

/* ---- frames, of which most are in many stacks ---- */

/* of text; a longer one is made anew each time */
#define MAX_KNOWN_TEXT  4096
#define MAX_KNOWN_BYTES (memory_limit / 32)

struct known_frame {
	struct frame_key key;
	struct json_object *json; /* has the text alone; of inlined functions, too */
	UT_hash_handle hh;
};

struct stack_json_known {
	struct known_frame *frames;
	size_t bytes;
};

struct stack_json_known *stack_json_known_new(void)
{
	return calloc(1, sizeof(struct stack_json_known));
}

static void forget_all(struct stack_json_known *known)
{
	struct known_frame *one, *next;

	HASH_ITER(hh, known->frames, one, next) {
		HASH_DEL(known->frames, one);
		json_object_put(one->json);
		free(one);
	}
	known->bytes = 0;
}

void stack_json_known_free(struct stack_json_known *known)
{
	if (!known)
		return;
	forget_all(known);
	free(known);
}

/* Keeps an array's element that is printed as these elements, if there is room. */
static void learn(struct stack_json_known *known, const struct frame_key *key,
		  struct json_object *elements[], size_t nr)
{
	struct known_frame *frame = calloc(1, sizeof(*frame));
	struct json_object *all = json_object_new_int(0);
	struct text *printed = text_begin();
	char *text;
	size_t bytes;

	for (size_t i = 0; i < nr && printed; i++)
		fprintf(printed->out, "%s%s", i ? "," : "", json_text(elements[i]));
	text = printed ? text_end(printed) : NULL;
	bytes = text ? strlen(text) : 0;
	if (!text || !frame || !all || bytes > MAX_KNOWN_TEXT) {
		free(text);
		json_object_put(all);
		free(frame);
		return;
	}
	json_object_set_serializer(all, json_object_userdata_to_json_string, text,
				   json_object_free_userdata);
	bytes += sizeof(*frame) + 128; /* and json-c's */
	if (known->bytes + bytes > MAX_KNOWN_BYTES)
		forget_all(known);
	known->bytes += bytes;
	frame->key = *key;
	frame->json = all;
	HASH_ADD(hh, known->frames, key, sizeof(frame->key), frame);
}

static void add_frame(const struct stack_writer *w, struct stack_json_known *known, uint32_t pid,
		      uint64_t frame, bool kernel, struct json_object *frames)
{
	struct json_object *elements[MAX_FRAME_NAMES];
	struct frame_name names[MAX_FRAME_NAMES];
	struct frame_key key = frame_key_of(pid, frame, kernel);
	struct known_frame *found = NULL;
	size_t nr;

	if (known)
		HASH_FIND(hh, known->frames, &key, sizeof(key), found);
	if (found) {
		json_object_array_add(frames, json_object_get(found->json));
		return;
	}
	nr = frame_names_of(&w->names, pid, frame, kernel, names);
	for (size_t i = 0; i < nr; i++) {
		elements[i] = stack_json_frame(&names[i], kernel ? 0 : frame);
		json_object_array_add(frames, elements[i]);
	}
	if (known && nr)
		learn(known, &key, elements, nr);
}

void stack_json_frames(const struct stack_writer *w, struct stack_json_known *known,
		       const struct stack_entry *entry, struct json_object *stack)
{
	struct json_object *user = json_object_new_array(), *kernel = json_object_new_array();

	for (uint32_t i = 0; entry->user && i < entry->user->nr; i++)
		add_frame(w, known, entry->key.pid, entry->user->frames[i], false, user);
	for (uint32_t i = entry->kernel ? stack_first_kernel_frame(w, entry->kernel) : 0;
	     entry->kernel && i < entry->kernel->nr; i++)
		add_frame(w, known, 0, entry->kernel->frames[i], true, kernel);
	json_object_object_add(stack, "user", user);
	json_object_object_add(stack, "kernel", kernel);
}

/* ---- one stack ---- */

struct json_object *stack_json_waker(const struct stack_entry *waker)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "pid", json_object_new_int64(waker->key.pid));
	json_object_object_add(object, "tid", json_object_new_int64(waker->key.tid));
	json_object_object_add(object, "comm", json_name(waker->key.comm));
	json_object_object_add(object, "interrupt",
			       json_object_new_boolean(waker->key.flags & STACK_INTERRUPT));
	json_object_object_add(object, "ended_by",
			       json_object_new_string(end_reason_name(waker->key.end)));
	return object;
}

struct json_object *stack_json_begin(const struct measure *measure, const struct stack_entry *entry)
{
	struct json_object *stack = json_object_new_object();

	json_object_object_add(stack, "type", json_object_new_string("stack"));
	json_object_object_add(stack, "pid", json_object_new_int64(entry->key.pid));
	json_object_object_add(stack, "tid", json_object_new_int64(entry->key.tid));
	json_object_object_add(stack, "comm", json_name(entry->key.comm));
	json_object_object_add(stack, "count", json_number(entry->value.count));
	if (measure->sum_unit)
		json_object_object_add(stack, "sum", json_number(measure->value(&entry->value)));
	if (measure->value_ns)
		json_object_object_add(stack, "value_ns",
				       json_number(measure->value(&entry->value) *
						   measure->value_ns));
	if (measure->stack_json)
		measure->stack_json(stack, entry);
	json_object_object_add(stack, "ended_by",
			       json_object_new_string(end_reason_name(entry->key.end)));
	return stack;
}

static struct json_object *json_stack(const struct stack_writer *w, struct stack_json_known *known,
				      const struct measure *measure,
				      const struct stack_entry *entry)
{
	struct json_object *stack = stack_json_begin(measure, entry), *waker;

	stack_json_frames(w, known, entry, stack);
	if (!entry->waker)
		return stack;
	waker = stack_json_waker(entry->waker);
	stack_json_frames(w, known, entry->waker, waker);
	json_object_object_add(stack, "waker", waker);
	return stack;
}

/* ---- all of them ---- */

struct json_object *stack_json_note(const struct process_note *note)
{
	struct json_object *process;

	if (!note->cmdline && !note->cgroup)
		return NULL;
	process = json_object_new_object();
	json_object_object_add(process, "type", json_object_new_string("process"));
	json_object_object_add(process, "pid", json_object_new_int64(note->pid));
	json_add_name(process, "cmdline", note->cmdline);
	json_add_name(process, "cgroup", note->cgroup);
	return process;
}

void stack_json_process(const struct stack_writer *w, uint32_t pid)
{
	struct process_note *note = process_notes_find(w->processes, pid);
	struct json_object *process = note && !note->printed ? stack_json_note(note) : NULL;

	if (!process)
		return;
	note->printed = true;
	json_print(w->out, process);
}

int stack_report_json(const struct stack_writer *w, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr)
{
	struct stack_json_known *known = stack_json_known_new();

	process_notes_begin(w->processes);
	for (size_t i = 0; i < (w->top && w->top < nr ? w->top : nr) && !stack_writer_ended(w);
	     i++) {
		stack_json_process(w, entries[i].key.pid);
		if (entries[i].waker)
			stack_json_process(w, entries[i].waker->key.pid);
		json_print(w->out, json_stack(w, known, summary->measure, &entries[i]));
	}
	stack_json_known_free(known);
	stack_summary_json(w->out, summary);
	return 0;
}
