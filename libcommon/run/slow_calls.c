// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/slow_calls.h"

#include <errno.h>

#include "base/clock.h"
#include "kernel/ring.h"
#include "report/histogram.h"
#include "report/json.h"
#include "report/namer.h"
#include "report/series_report.h"
#include "report/time_of_day.h"
#include "run/cli.h"
#include "run/histogram_session.h"
#include "run/stack_session.h"
#include "stacks_abi.h"
#include "timed_calls_abi.h"

/* Makes the call's stack entries, MAX_BLOCKED_STACKS at most; returns their number. */
static size_t stacks_of(const struct slow_calls *calls, const struct slow_call *call,
			struct stack_entry *entries)
{
	const struct stack_store *store = calls->session->store;

	for (uint32_t i = 0; i < call->nr_blocked; i++)
		entries[i] = (struct stack_entry){
			.key = { .kernel_stack = call->blocked[i].kernel_stack,
				 .end = END_NOT_TAKEN },
			.value = { .count = 1, .blocked_ns = call->blocked[i].ns },
			.kernel = stack_store_find(store, call->blocked[i].kernel_stack, false),
		};
	/* the first entry has the user stack */
	entries[0].key.end = call->user_end;
	entries[0].user = stack_store_find(store, call->user_stack, true);
	if (call->nr_blocked || call->user_end == END_NOT_TAKEN)
		return call->nr_blocked;
	/* never blocked, but there is a user stack to show */
	entries[0].value = (struct stack_value){ .count = 1, .waiting_ns = call->latency_ns };
	return 1;
}

static void print_text(const struct stack_writer *writer, const struct slow_call *call,
		       const struct stack_entry *entries, size_t nr, const char *title)
{
	fprintf(writer->out, "%s %s: %s, blocked %s, waiting to run %s%s%s\n",
		time_of_day(call->ended_ns).text, title, histogram_time(call->latency_ns).text,
		histogram_time(call->blocked_ns).text, histogram_time(call->waiting_ns).text,
		call->result < 0 ? ", " : "",
		call->result < 0 ? errno_name(-call->result).text : "");
	for (size_t i = 0; i < nr; i++)
		series_report_stack(writer, &entries[i], &histogram_usecs, call->latency_ns);
}

/*
 * key: the tool's description of the call, which is added to the printed object and freed with it
 */
static void print_json(const struct stack_writer *writer, const struct slow_call *call,
		       const struct stack_entry *entries, size_t nr, struct json_object *key)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(object, "type", json_object_new_string("call"));
	json_object_object_add(object, "time",
			       json_object_new_string(time_of_day(call->ended_ns).text));
	json_object_object_add(object, "key", key);
	json_object_object_add(object, "tid", json_object_new_int64(call->tid));
	json_object_object_add(object, "result", json_object_new_int64(call->result));
	json_object_object_add(object, "latency_ns", json_number(call->latency_ns));
	json_object_object_add(object, "blocked_ns", json_number(call->blocked_ns));
	json_object_object_add(object, "waiting_ns", json_number(call->waiting_ns));
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, series_report_json_stack(writer, &entries[i],
								     &histogram_usecs));
	json_object_object_add(object, "stacks", list);
	json_print(writer->out, object);
}

/* How long one may wait for names in all is of this time, as of an interval's report. */
#define FORGET_NS 1000000000

static int take(void *arg, void *bytes, size_t size)
{
	struct stack_entry entries[MAX_BLOCKED_STACKS] = {};
	const struct slow_call *call = bytes;
	const void *key = call + 1;
	struct slow_calls *calls = arg;
	struct placed_stacks placed = {};
	size_t nr;
	int error;

	if (size < sizeof(*call) + calls->key_bytes || call->nr_blocked > MAX_BLOCKED_STACKS)
		return -EBADMSG;
	/* its stacks came before it, in another ring */
	error = stack_store_drain(calls->session->store, 0);
	if (error)
		return error;
	nr = stacks_of(calls, call, entries);
	stack_session_place(calls->session, &placed, entries, nr);
	if (calls->json)
		print_json(&calls->writer, call, entries, nr, calls->tool->json(key));
	else
		print_text(&calls->writer, call, entries, nr, calls->tool->title(key).text);
	run_flush_output(&calls->session->run);
	placed_stacks_free(&placed);
	if (clock_ns() - calls->forgot_ns > FORGET_NS) {
		namer_forget(calls->session->namer);
		calls->forgot_ns = clock_ns();
	}
	return 0;
}

int slow_calls_print(struct slow_calls *calls)
{
	return ring_drain(calls->ring, 0);
}

static int work(void *arg)
{
	return slow_calls_print(arg);
}

uint64_t slow_calls_parse_time(const char *text, struct argp_state *state)
{
	uint64_t ns = 0;

	if (!cli_parse_time(text, 1000, &ns) || !ns)
		argp_failure(state, EXIT_USAGE, 0, "not a time: '%s'", text);
	return ns;
}

int slow_calls_open(struct slow_calls *calls, struct stack_session *session,
		    const struct histogram_tool *tool, size_t key_bytes, bool json)
{
	int error;

	*calls = (struct slow_calls){
		.session = session,
		.tool = tool,
		.key_bytes = key_bytes,
		.writer = stack_session_writer(session),
		.json = json,
	};
	calls->writer.delimiter = calls->writer.traced = true;
	error = ring_open(&calls->ring, session->object, "slow_calls", take, calls);
	if (!error)
		run_add(&session->run, &(struct run_part){ .doing = "print slow calls",
							   .work = work,
							   .arg = calls });
	return error;
}

void slow_calls_close(struct slow_calls *calls)
{
	ring_close(calls->ring);
}
