// SPDX-License-Identifier: GPL-2.0-or-later
#include "slow_ios.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "biohist_abi.h"
#include "kernel/ring.h"
#include "io_names.h"
#include "report/histogram.h"
#include "report/json.h"
#include "report/series_report.h"
#include "report/time_of_day.h"
#include "run/stack_session.h"

#define MAX_WAIT_NS 1000000000 /* so long for the stack of a process that is not known yet */

static void put_text(const struct stack_writer *writer, const struct slow_io *io,
		     const struct stack_entry *entry)
{
	struct io_key key = io->key;
	uint64_t latency_ns = io->queued_ns + io->device_ns;

	if (entry->waker) /* who is named with the stacks */
		key.pid = key.comm[0] = 0;
	fprintf(writer->out, "%s %s: %s, %s in the queue, %s on the device, %s%s%s\n",
		time_of_day(io->ended_ns).text, io_names_title(&key).text,
		histogram_time(latency_ns).text, histogram_time(io->queued_ns).text,
		histogram_time(io->device_ns).text,
		histogram_value(&histogram_kbytes, io->bytes).text, io->error ? ", " : "",
		io->error ? errno_name(io->error).text : "");
	if (entry->waker)
		series_report_stack(writer, entry, &histogram_usecs, latency_ns);
}

static void put_json(const struct stack_writer *writer, const struct slow_io *io,
		     const struct stack_entry *entry)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(object, "type", json_object_new_string("io"));
	json_object_object_add(object, "time",
			       json_object_new_string(time_of_day(io->ended_ns).text));
	json_object_object_add(object, "key", io_names_json(&io->key));
	json_object_object_add(object, "latency_ns", json_number(io->queued_ns + io->device_ns));
	json_object_object_add(object, "queued_ns", json_number(io->queued_ns));
	json_object_object_add(object, "device_ns", json_number(io->device_ns));
	json_object_object_add(object, "bytes", json_number(io->bytes));
	if (io->error)
		json_object_object_add(object, "error",
				       json_object_new_string(errno_name(io->error).text));
	if (entry->waker)
		json_object_array_add(list,
				      series_report_json_stack(writer, entry, &histogram_usecs));
	json_object_object_add(object, "stacks", list);
	json_print(writer->out, object);
}

static void print(struct slow_ios *slow, const struct slow_io *io, const struct stack_entry *issuer)
{
	struct stack_entry entry = { .value = { .count = 1,
						.waiting_ns = io->queued_ns + io->device_ns },
				     .waker = issuer };
	struct stack_writer writer = stack_session_writer(slow->session);
	struct placed_stacks placed = {};

	writer.delimiter = writer.traced = true;
	stack_session_place(slow->session, &placed, &entry, 1);
	(slow->json ? put_json : put_text)(&writer, io, &entry);
	placed_stacks_free(&placed);
}

/* Prints those whose stacks have come, or do not come; all: none comes any more */
static void print_held(struct slow_ios *slow, bool all)
{
	size_t nr = 0;

	for (; nr < slow->nr_held; nr++) {
		const struct slow_io *io = &slow->held[nr];
		const struct stack_entry *issuer =
			stack_store_key(slow->session->store, io->issuer);
		bool pending = io->issuer && (!issuer || issuer->key.flags & STACK_PENDING);

		if (!all && pending && clock_ns() - io->ended_ns < MAX_WAIT_NS)
			break;
		print(slow, io, issuer);
	}
	slow->nr_held -= nr;
	memmove(slow->held, slow->held + nr, slow->nr_held * sizeof(*slow->held));
	if (nr)
		run_flush_output(&slow->session->run);
}

static int take(void *arg, void *bytes, size_t size)
{
	struct slow_ios *slow = arg;
	int error = size < sizeof(struct slow_io)
			    ? -EBADMSG
			    : array_reserve(&slow->held, &slow->room, slow->nr_held + 1);

	if (!error)
		memcpy(&slow->held[slow->nr_held++], bytes, sizeof(struct slow_io));
	return error;
}

static int work(void *arg)
{
	struct slow_ios *slow = arg;
	int error = ring_drain(slow->ring, 0);

	if (!error && slow->nr_held)
		print_held(slow, false);
	return error;
}

int slow_ios_finish(struct slow_ios *slow)
{
	int error = ring_drain(slow->ring, 0);

	if (!error && slow->nr_held)
		print_held(slow, true);
	return error;
}

int slow_ios_open(struct slow_ios *slow, struct stack_session *session, bool json)
{
	int error;

	*slow = (struct slow_ios){ .session = session, .json = json };
	error = ring_open(&slow->ring, session->object, "slow_ios", take, slow);
	if (!error)
		run_add(&session->run, &(struct run_part){ .doing = "print slow I/Os",
							   .work = work,
							   .arg = slow });
	return error;
}

void slow_ios_close(struct slow_ios *slow)
{
	ring_close(slow->ring);
	free(slow->held);
}
