/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a single call, such as a slow one: when it returned, how its time was spent, and in which stacks. */
#ifndef EHPERF_REPORT_CALL_REPORT_H
#define EHPERF_REPORT_CALL_REPORT_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stack_writer.h"

struct call_report {
	uint32_t tid;
	int64_t result;			/* what the call returned, or -errno */
	uint64_t ended_ns;		/* CLOCK_MONOTONIC */
	uint64_t latency_ns, blocked_ns, waiting_ns;
	/*
	 * the stacks it was blocked in, with the time in each; the first entry has the user stack, if there
	 * is one
	 */
	const struct stack_entry *entries;
	size_t nr_entries;
};

void call_report_text(const struct stack_writer *writer, const struct call_report *call, const char *title);
/* key: the tool's description of the call, which is added to the printed object and freed with it */
void call_report_json(const struct stack_writer *writer, const struct call_report *call,
		      struct json_object *key);

#endif
