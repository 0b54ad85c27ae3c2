/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints each I/O that takes longer than --slow when it is done, with the stacks that started it.
 */
#ifndef EHPERF_BIOHIST_SLOW_IOS_H
#define EHPERF_BIOHIST_SLOW_IOS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/stack_writer.h"

struct ring;
struct stack_session;

struct slow_io;

struct slow_ios {
	struct stack_session *session;
	struct ring *ring;
	bool json;
	/* in the order of their ends: the first one's stack may still be on its way */
	struct slow_io *held;
	size_t nr_held, room;
};

/* Becomes a part of the opened session's run. 0 or -errno */
int slow_ios_open(struct slow_ios *slow, struct stack_session *session, bool json);
/* Prints all that are in the ring buffer, when no stack can come any more. 0 or -errno */
int slow_ios_finish(struct slow_ios *slow);
void slow_ios_close(struct slow_ios *slow);

#endif
