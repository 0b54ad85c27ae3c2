// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "process/paths.h"

#define KEPT_ROOM 4096

/* A new event at the end of the queue, which added() makes a part of it. NULL: no memory */
static struct queued_event *new_event(struct event_queue *queue, uint64_t time_ns)
{
	struct queued_event *event;

	if (array_reserve(&queue->events, &queue->room, queue->nr + 1))
		return NULL;
	event = &queue->events[queue->nr];
	*event = (struct queued_event){ .time_ns = time_ns, .number = queue->nr_added };
	return event;
}

static void added(struct event_queue *queue)
{
	queue->nr++;
	queue->nr_added++;
}

int event_queue_add(struct event_queue *queue, const struct process_event *event)
{
	struct queued_event *queued = new_event(queue, event->time_ns);

	if (!queued)
		return -ENOMEM;
	queued->event = *event;
	if (event->mapping.path) {
		queued->event.mapping.path = path_get(event->mapping.path);
		if (!queued->event.mapping.path)
			return -ENOMEM;
	}
	added(queue);
	return 0;
}

static int add_raw(struct event_queue *queue, const struct raw_record *record, size_t bytes)
{
	struct queued_event *queued = new_event(queue, record->time_ns);

	if (!queued)
		return -ENOMEM;
	queued->raw = malloc(bytes);
	if (!queued->raw)
		return -ENOMEM;
	memcpy(queued->raw, record, bytes);
	added(queue);
	return 0;
}

static int add_process_record(struct event_queue *queue, const struct process_record *record)
{
	struct process_event event = {
		.kind = record->kind == RECORD_EXITED ? PROCESS_EXITED : PROCESS_UNMAPPED,
		.pid = record->pid,
		.time_ns = record->time_ns,
		.mapping = { .start = record->start, .end = record->end },
		.changes = record->changes,
	};

	return event_queue_add(queue, &event);
}

int event_queue_add_record(struct event_queue *queue, const void *record, size_t bytes)
{
	const struct process_record *process = record;
	const struct raw_record *raw = record;
	uint32_t kind;

	if (bytes < sizeof(kind))
		return -EBADMSG;
	memcpy(&kind, record, sizeof(kind));
	if (kind == RECORD_RAW && bytes >= sizeof(*raw) && bytes - sizeof(*raw) >= raw->stack_bytes)
		return add_raw(queue, raw, bytes);
	if ((kind == RECORD_UNMAPPED || kind == RECORD_EXITED) && bytes >= sizeof(*process))
		return add_process_record(queue, process);
	return -EBADMSG;
}

static int by_time(const void *left, const void *right)
{
	const struct queued_event *l = left, *r = right;

	return order_of(l->time_ns, r->time_ns) ?: order_of(l->number, r->number);
}

void event_queue_begin(struct event_queue *queue, uint64_t horizon_ns)
{
	queue->nr -= queue->first;
	if (queue->nr) {
		memmove(queue->events, queue->events + queue->first,
			queue->nr * sizeof(*queue->events));
		qsort(queue->events, queue->nr, sizeof(*queue->events), by_time);
	}
	if (!queue->nr && queue->room > KEPT_ROOM) { /* after a burst */
		free(queue->events);
		queue->events = NULL;
		queue->room = 0;
	}
	queue->first = 0;
	queue->batch_end = 0;
	while (queue->batch_end < queue->nr &&
	       queue->events[queue->batch_end].time_ns <= horizon_ns)
		queue->batch_end++;
}

bool event_queue_next(struct event_queue *queue, struct queued_event *next)
{
	if (queue->first == queue->batch_end)
		return false;
	*next = queue->events[queue->first++];
	return true;
}

void queued_event_free(struct queued_event *event)
{
	free(event->raw);
	path_release(event->event.mapping.path);
}

bool event_queue_is_empty(const struct event_queue *queue)
{
	return queue->first == queue->nr;
}

bool event_queue_has_event(const struct event_queue *queue, pid_t pid, uint64_t from_ns,
			   uint64_t to_ns)
{
	for (size_t i = queue->first; i < queue->nr; i++) {
		const struct queued_event *queued = &queue->events[i];

		if (!queued->raw && queued->event.pid == pid && queued->time_ns > from_ns &&
		    queued->time_ns <= to_ns)
			return true;
	}
	return false;
}

void event_queue_free(struct event_queue *queue)
{
	for (size_t i = queue->first; i < queue->nr; i++)
		queued_event_free(&queue->events[i]);
	free(queue->events);
	*queue = (struct event_queue){};
}
