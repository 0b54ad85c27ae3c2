// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as JSON. */
#include <stdio.h>
#include <string.h>

#include "report/frame_names.h"
#include "report/json.h"
#include "report/stack_report.h"
#include "report/stack_writer.h"
#include "stacks_abi.h"
#include "unwind/end_reason.h"

/* ---- one stack ---- */

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

void stack_json_frames(const struct stack_writer *w, const struct stack_entry *entry,
		       struct json_object *stack)
{
	struct json_object *user = json_object_new_array(), *kernel = json_object_new_array();
	struct frame_name names[MAX_FRAME_NAMES];

	for (uint32_t i = 0; entry->user && i < entry->user->nr; i++) {
		size_t nr =
			frame_names_user(&w->names, entry->key.pid, entry->user->frames[i], names);

		for (size_t j = 0; j < nr; j++)
			json_object_array_add(user,
					      stack_json_frame(&names[j], entry->user->frames[i]));
	}
	for (uint32_t i = entry->kernel ? stack_first_kernel_frame(w, entry->kernel) : 0;
	     entry->kernel && i < entry->kernel->nr; i++) {
		struct frame_name name = frame_name_kernel(&w->names, entry->kernel->frames[i]);

		json_object_array_add(kernel, stack_json_frame(&name, 0));
	}
	json_object_object_add(stack, "user", user);
	json_object_object_add(stack, "kernel", kernel);
}

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

static struct json_object *json_stack(const struct stack_writer *w, const struct measure *measure,
				      const struct stack_entry *entry)
{
	struct json_object *stack = stack_json_begin(measure, entry), *waker;

	stack_json_frames(w, entry, stack);
	if (!entry->waker)
		return stack;
	waker = stack_json_waker(entry->waker);
	stack_json_frames(w, entry->waker, waker);
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
	process_notes_begin(w->processes);
	for (size_t i = 0; i < (w->top && w->top < nr ? w->top : nr) && !stack_writer_ended(w);
	     i++) {
		stack_json_process(w, entries[i].key.pid);
		if (entries[i].waker)
			stack_json_process(w, entries[i].waker->key.pid);
		json_print(w->out, json_stack(w, summary->measure, &entries[i]));
	}
	stack_summary_json(w->out, summary);
	return 0;
}
