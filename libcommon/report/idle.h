/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which waits are of idle threads: threads that wait for work that does not come. When in doubt, a thread is not idle.
 *
 * A thread is idle if it slept in one place for 95 % of the measurement, woke there once a second at most, and that place is
 * near the root of its stack and takes whatever comes next: epoll_wait(), accept() or a condition variable. "Sleeping" leaves
 * out disks; the calls leave out locks, one peer (read, recv, poll), a child and a time to pass; a place deep in the stack is
 * a wait in the midst of some work. The locks of Java, Python and JITs are made of condition variables, so threads that run
 * code of a runtime are never idle, nor are main threads on a condition variable: they wait for their workers.
 */
#ifndef EHPERF_REPORT_IDLE_H
#define EHPERF_REPORT_IDLE_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "report/frame_name.h"
#include "report/stack_entry.h"

/* whom the user asked for: these threads are never idle */
struct idle_asked {
	pid_t main;		/* the main thread of the command, or of the one process of -p; 0: none */
	const pid_t *tids;
	size_t nr_tids;
};

/*
 * Sets the `idle` of all entries: true for the waits of idle threads. If all threads that were measured are idle, none is.
 * Entries without a value are not looked at. The names of their frames must be known by now. threads: how many are idle. 0 or
 * -ENOMEM
 */
int idle_mark(struct stack_entry *entries, size_t nr, uint64_t measured_ns, const struct idle_asked *asked,
	      const struct frame_names *names, size_t *threads);

/* Moves the idle entries behind the others: how many others there are. */
size_t idle_to_end(struct stack_entry *entries, size_t nr);

/* "TOOL: idle: 12 threads, 60.700 s (--idle shows them)", and the same in a summary's JSON; nothing if there are none */
void idle_print(FILE *out, const char *tool, uint64_t threads, uint64_t ns);
void idle_json(struct json_object *summary, uint64_t threads, uint64_t ns);

#endif
