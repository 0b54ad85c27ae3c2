/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the waits of idle threads: threads that wait for work that does not come. In doubt, a
 * thread is not idle.
 *
 * A thread is idle if it slept in one place for 95 % of the measurement, was woken there at most
 * once a second, and the place is near the root of its stack, in a call that waits for any next
 * event: epoll_wait(), accept() or a condition variable.
 *
 * So these are not idle: waits for a disk (not sleeping); waits for locks, for one peer (read,
 * recv, poll), for a child and for a timeout (other calls); and waits deep in the stack, which are
 * part of some work. Java, Python and JITs make locks of condition variables, so threads that run
 * code of a runtime are never idle. Main threads that wait for a condition variable are not idle:
 * they wait for their workers.
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

/* the threads that the user has selected, which are never idle */
struct idle_asked {
	pid_t main; /* the main thread of the command, or of the one process of -p; 0: none */
	const pid_t *tids;
	size_t nr_tids;
};

/*
 * Sets the `idle` of all entries: true for the waits of idle threads. If all threads that were
 * measured are idle, none is. Entries without a value are not looked at. The names of their frames
 * must be known by now. threads: how many are idle. 0 or -ENOMEM
 */
int idle_mark(struct stack_entry *entries, size_t nr, uint64_t measured_ns,
	      const struct idle_asked *asked, const struct frame_names *names, size_t *threads);

/* Moves the idle entries behind the others. Returns the number of the others. */
size_t idle_to_end(struct stack_entry *entries, size_t nr);

/*
 * "TOOL: idle: 12 threads, 60.700 s (--idle shows them)", and the same in a summary's JSON; nothing
 * if there are none
 */
void idle_print(FILE *out, const char *tool, uint64_t threads, uint64_t ns);
void idle_json(struct json_object *summary, uint64_t threads, uint64_t ns);

#endif
