// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue of what has happened: in which order and in which turn it comes out; records that are
 * not what they say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/event_queue.h"
#include "check.h"

static struct event_queue queue;

static void add(pid_t pid, uint64_t time)
{
	struct process_event event = { .kind = PROCESS_MAPPED,
				       .pid = pid,
				       .time_ns = time,
				       .mapping.path = (char[]){ "/a/file" } };

	check(!event_queue_add(&queue, &event), "event of %d at %lu", pid, time);
	memset(event.mapping.path, 'x', 3); /* its path was copied */
}

static void add_sample(pid_t pid, uint64_t time, uint32_t stack_bytes)
{
	struct raw_record *raw = calloc(1, sizeof(*raw) + stack_bytes);

	*raw = (struct raw_record){
		.kind = RECORD_RAW, .stack_bytes = stack_bytes, .time_ns = time, .key.pid = pid
	};
	memset(raw + 1, pid, stack_bytes);
	check(!event_queue_add_record(&queue, raw, sizeof(*raw) + stack_bytes),
	      "sample of %d at %lu", pid, time);
	free(raw);
}

/* "PID@TIME ...", samples with an s before the PID */
static void turn(uint64_t horizon, const char *expected)
{
	struct queued_event next;
	char text[256] = "";
	size_t length = 0;
	bool whole = true;

	event_queue_begin(&queue, horizon);
	while (event_queue_next(&queue, &next)) {
		const uint8_t *stack = (const uint8_t *)(next.raw + 1);

		length +=
			snprintf(text + length, sizeof(text) - length, "%s%s%d@%lu",
				 length ? " " : "", next.raw ? "s" : "",
				 next.raw ? (int)next.raw->key.pid : next.event.pid, next.time_ns);
		for (uint32_t i = 0; next.raw && i < next.raw->stack_bytes; i++)
			whole &= stack[i] == next.raw->key.pid;
		whole &= next.raw || !strcmp(next.event.mapping.path, "/a/file");
		queued_event_free(&next);
	}
	check(!strcmp(text, expected), "up to %lu: '%s', expected '%s'", horizon, text, expected);
	check(whole, "stacks and paths are copies");
}

static void test_order(void)
{
	turn(100, "");
	add(1, 30);
	add(2, 10);
	add_sample(3, 20, 8);
	add(4, 40);
	turn(30, "2@10 s3@20 1@30");
	check(!event_queue_is_empty(&queue));
	add(5, 35); /* arrives after later ones were handled */
	add(6, 40); /* at one time: in the order of arrival */
	add_sample(7, 40, 0);
	turn(UINT64_MAX, "5@35 4@40 6@40 s7@40");
	check(event_queue_is_empty(&queue));
}

/* more than there is room for at first, from the last to the first */
static void test_many(void)
{
	struct queued_event next;
	uint64_t expected = 1, right = 0;

	for (uint64_t time = 1000; time; time--) {
		struct process_event event = { .kind = PROCESS_EXITED, .pid = 1, .time_ns = time };

		if (event_queue_add(&queue, &event))
			break;
	}
	event_queue_begin(&queue, UINT64_MAX);
	while (event_queue_next(&queue, &next))
		right += next.time_ns == expected++;
	check(right == 1000);
}

/* what is added within a turn waits for the next one, and is seen by those who ask */
static void test_added_meanwhile(void)
{
	struct queued_event next;

	add(1, 10);
	add(2, 20);
	event_queue_begin(&queue, 100);
	check(event_queue_next(&queue, &next) && next.time_ns == 10);
	queued_event_free(&next);
	check(!event_queue_has_event(&queue, 1, 0, 100), "it was taken out");
	add(1, 15);
	add_sample(1, 16, 8);
	check(event_queue_has_event(&queue, 1, 14, 15) && event_queue_has_event(&queue, 2, 0, 100));
	check(!event_queue_has_event(&queue, 1, 15, 100),
	      "after from_ns, and samples are no events");
	check(!event_queue_has_event(&queue, 1, 0, 14) &&
	      !event_queue_has_event(&queue, 3, 0, 100));
	check(event_queue_next(&queue, &next) && next.time_ns == 20);
	queued_event_free(&next);
	check(!event_queue_next(&queue, &next), "the turn is over");
	turn(100, "1@15 s1@16");
}

static void test_records(void)
{
	struct process_record process = {
		.kind = RECORD_UNMAPPED,
		.pid = 7,
		.time_ns = 5,
		.start = 0x1000,
		.end = 0x2000,
		.changes = 3,
	};
	struct raw_record raw = { .kind = RECORD_RAW, .stack_bytes = 1 };
	struct frames_record frames = { .stack.kind = RECORD_USER_STACK };
	struct queued_event next;

	check(event_queue_add_record(&queue, &raw, sizeof(raw)) == -EBADMSG,
	      "its stack is missing");
	check(event_queue_add_record(&queue, &raw, sizeof(raw) - 1) == -EBADMSG);
	check(event_queue_add_record(&queue, &process, sizeof(process) - 1) == -EBADMSG);
	check(event_queue_add_record(&queue, &process, 3) == -EBADMSG);
	check(event_queue_add_record(&queue, &frames, sizeof(frames)) == -EBADMSG,
	      "nothing that waits");
	check(event_queue_is_empty(&queue), "and none of them is in the queue");
	check(!event_queue_add_record(&queue, &process, sizeof(process)));
	process.kind = RECORD_EXITED;
	check(!event_queue_add_record(&queue, &process, sizeof(process)));
	event_queue_begin(&queue, 5);
	check(event_queue_next(&queue, &next) && next.event.kind == PROCESS_UNMAPPED &&
	      next.event.pid == 7 && next.event.mapping.start == 0x1000 &&
	      next.event.mapping.end == 0x2000 && next.event.changes == 3);
	check(event_queue_next(&queue, &next) && next.event.kind == PROCESS_EXITED &&
	      next.event.pid == 7);
}

int main(void)
{
	test_order();
	test_many();
	test_added_meanwhile();
	test_records();
	add(1, 1); /* what still waits is freed */
	add_sample(1, 1, 8);
	event_queue_free(&queue);
	return check_done();
}
