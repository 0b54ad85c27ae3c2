/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints each timed call (bpf/timed_calls.bpf.h) that takes longer than --slow when it returns,
 * with the stacks in which it was blocked.
 */
#ifndef EHPERF_RUN_SLOW_CALLS_H
#define EHPERF_RUN_SLOW_CALLS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stack_writer.h"

struct histogram_tool;
struct ring;
struct stack_session;

/* --slow's argument, in ns, more than 0; anything else ends the tool with a message */
uint64_t slow_calls_parse_time(const char *text, struct argp_state *state);

struct slow_calls {
	struct stack_session *session;
	const struct histogram_tool *tool;
	size_t key_bytes;
	struct stack_writer writer;
	bool json;
	struct ring *ring;
	uint64_t forgot_ns; /* when the namer's time began anew */
};

/*
 * Becomes a part of the opened session's run. tool: makes titles of its keys, which have this size.
 * 0 or -errno
 */
int slow_calls_open(struct slow_calls *calls, struct stack_session *session,
		    const struct histogram_tool *tool, size_t key_bytes, bool json);
/* Prints the calls that are in the ring buffer. 0 or -errno */
int slow_calls_print(struct slow_calls *calls);
void slow_calls_close(struct slow_calls *calls);

#endif
