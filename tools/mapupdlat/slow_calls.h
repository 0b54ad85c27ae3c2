/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints calls that take longer than --slow, as they return, with the stacks that they were blocked in. */
#ifndef EHPERF_MAPUPDLAT_SLOW_CALLS_H
#define EHPERF_MAPUPDLAT_SLOW_CALLS_H

#include <stdbool.h>

#include "report/stack_writer.h"

struct ring_buffer;
struct stack_session;

struct slow_calls {
	struct stack_session *session;
	struct stack_writer writer;
	bool json;
	struct ring_buffer *ring;
};

/* Becomes a part of the opened session's run. 0 or -errno */
int slow_calls_open(struct slow_calls *calls, struct stack_session *session, bool json);
/* Prints the calls that are in the ring buffer. 0 or -errno */
int slow_calls_print(struct slow_calls *calls);
void slow_calls_close(struct slow_calls *calls);

#endif
