// SPDX-License-Identifier: GPL-2.0-or-later
/* The timeline as JSON, one object a line: ehperf-json(5). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/idle.h"
#include "report/json.h"
#include "stacks_abi.h"
#include "unwind/end_reason.h"
#include "wallprof/wall.h"

static void put_number(struct json_object *object, const char *name, uint64_t number)
{
	json_object_object_add(object, name, json_number(number));
}

static void put_thread(const struct wall *w, const struct life *life)
{
	struct json_object *thread = json_object_new_object();

	json_add_name(thread, "type", "thread");
	put_number(thread, "pid", life->pid);
	put_number(thread, "tid", life->tid);
	json_add_name(thread, "comm", life->comm);
	put_number(thread, "from_ns", life->from_ns);
	put_number(thread, "to_ns", life->to_ns);
	put_number(thread, "periods", life->nr_periods);
	put_number(thread, "samples", life->nr_samples);
	put_number(thread, "lost", life->nr_lost);
	json_print(w->writer.out, thread);
}

/* the key's ID in the report; 0: none */
static uint32_t id_of(const struct wall *w, uint32_t key)
{
	return key && w->ids ? w->ids[key - 1] : key;
}

static struct json_object *json_waker(const struct wall *w, uint32_t number)
{
	struct json_object *waker = json_object_new_object();
	const struct stack_entry *key = wall_key(w, number);

	if (key) {
		put_number(waker, "pid", key->key.pid);
		put_number(waker, "tid", key->key.tid);
		json_add_name(waker, "comm", key->key.comm);
		json_object_object_add(waker, "interrupt",
				       json_object_new_boolean(key->key.flags & STACK_INTERRUPT));
	}
	put_number(waker, "stack", id_of(w, number));
	return waker;
}

static int put_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct json_object *period = json_object_new_object();
	const struct wall *w = arg;
	uint32_t id = id_of(w, i->key);
	char why[] = { wall_why(wall_key(w, i->key)), 0 };

	json_add_name(period, "type", "period");
	put_number(period, "pid", life->pid);
	put_number(period, "tid", life->tid);
	json_add_name(period, "state", wall_state_name(i->state));
	put_number(period, "from_ns", i->from_ns);
	put_number(period, "to_ns", i->to_ns);
	if (i->state == WALL_LOST)
		put_number(period, "lost", i->nr_lost);
	if (i->key)
		json_add_name(period, "why", why);
	if (id)
		put_number(period, "stack", id);
	if (i->state != WALL_LOST && !i->open && i->cpu != NO_CPU)
		put_number(period, "cpu", i->cpu);
	if (i->open)
		json_object_object_add(period, "open", json_object_new_boolean(true));
	if (i->state == WALL_BLOCKED && i->waker) {
		put_number(period, "woken_ns", i->to_ns);
		json_object_object_add(period, "woken_by", json_waker(w, i->waker));
	}
	json_print(w->writer.out, period);
	return stack_writer_ended(&w->writer) ? -EINTR : 0;
}

static int put_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct json_object *sample = json_object_new_object();
	const struct wall *w = arg;

	json_add_name(sample, "type", "sample");
	put_number(sample, "pid", life->pid);
	put_number(sample, "tid", life->tid);
	put_number(sample, "time_ns", time_ns);
	put_number(sample, "stack", id_of(w, key));
	json_print(w->writer.out, sample);
	return stack_writer_ended(&w->writer) ? -EINTR : 0;
}

static void put_stacks(const struct wall *w, struct stack_json_known *known, uint32_t number)
{
	const struct stack_entry *key = wall_key(w, number);
	struct json_object *stacks = json_object_new_object();
	char state[] = { wall_why(key), 0 };

	json_add_name(stacks, "type", "stacks");
	put_number(stacks, "id", id_of(w, number));
	put_number(stacks, "pid", key->key.pid);
	put_number(stacks, "tid", key->key.tid);
	json_add_name(stacks, "comm", key->key.comm);
	json_add_name(stacks, "state", state);
	json_object_object_add(stacks, "user_stack", json_address(key->key.user_stack));
	json_object_object_add(stacks, "kernel_stack", json_address(key->key.kernel_stack));
	if (key->key.flags & STACK_INTERRUPT)
		json_object_object_add(stacks, "interrupt", json_object_new_boolean(true));
	json_add_name(stacks, "ended_by", end_reason_name(key->key.end));
	if (key->idle)
		json_object_object_add(stacks, "idle", json_object_new_boolean(true));
	stack_json_frames(&w->writer, known, key, stacks);
	json_print(w->writer.out, stacks);
}

/* ended_early: by a signal, in the midst of a thread's lines or before them all */
static void put_summary(const struct wall *w, bool ended_early)
{
	struct json_object *summary = json_object_new_object();
	uint64_t periods = 0, samples = 0;
	char *said = NULL;
	size_t bytes;
	FILE *out = open_memstream(&said, &bytes);

	for (size_t i = 0; i < w->nr_lives; i++) {
		periods += w->lives[i].nr_periods;
		samples += w->lives[i].nr_samples;
	}
	json_add_name(summary, "type", "summary");
	json_add_name(summary, "tool", program_invocation_short_name);
	json_object_object_add(summary, "began", json_time(w->started_ns));
	put_number(summary, "boot_ns", w->boot_ns);
	json_object_object_add(summary, "seconds",
			       json_object_new_double((w->to_ns - w->from_ns) / 1e9));
	json_add_name(summary, "only", w->only);
	put_number(summary, "threads", w->nr_lives);
	put_number(summary, "periods", periods);
	put_number(summary, "samples", samples);
	if (w->limits && w->limits->left_out)
		put_number(summary, "left_out", w->limits->left_out);
	if (w->stacks_left_out)
		put_number(summary, "stacks_left_out", w->stacks_left_out);
	if (ended_early)
		json_object_object_add(summary, "ended_early", json_object_new_boolean(true));
	idle_json(summary, w->idle_threads, w->idle_ns);
	losses_json(summary, w->losses, w->nr_losses);
	json_object_object_add(summary, "ended", stack_summary_json_ends(w->ends.ended));
	json_object_object_add(summary, "ended_ns", stack_summary_json_ends(w->ends.ended_value));
	if (out)
		wall_summary(out, w);
	if (out && !fclose(out))
		json_add_name(summary, "said", said);
	free(said);
	json_print(w->writer.out, summary);
}

int wall_json(const struct wall *w)
{
	const struct timeline_visitor visitor = { put_interval, put_sample, (void *)w };
	struct stack_json_known *known = stack_json_known_new();
	int error = 0;

	process_notes_begin(w->writer.processes);
	for (uint32_t number = 1; number <= w->nr_keys && !stack_writer_ended(&w->writer); number++)
		if (id_of(w, number) && wall_key(w, number))
			put_stacks(w, known, number);
	stack_json_known_free(known);
	for (size_t i = 0; i < w->nr_lives && !error && !stack_writer_ended(&w->writer); i++) {
		stack_json_process(&w->writer, w->lives[i].pid);
		put_thread(w, &w->lives[i]);
		error = wall_visit(w, &w->lives[i], &visitor);
	}
	if (error == -EINTR)
		error = 0;
	if (!error)
		put_summary(w, stack_writer_ended(&w->writer));
	return error;
}
