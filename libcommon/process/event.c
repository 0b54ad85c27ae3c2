// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/event.h"

#include <stdlib.h>
#include <unistd.h>

void event_free(struct event *event)
{
	free(event->name);
	free(event->path);
	free(event->arguments);
	function_exits_free(&event->exits);
}

void events_free(struct events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		event_free(&events->events[i]);
	if (events->fd)
		close(events->fd);
	free(events->events);
	*events = (struct events){};
}
