/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who goes first. On a machine where many threads are runnable, what is measured is lost if whoever takes it, or makes its tables,
 * comes last: so they go first, as long as they take little.
 */
#ifndef EHPERF_PROCESS_PRIORITY_H
#define EHPERF_PROCESS_PRIORITY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The calling thread goes first, and what it starts. Before this, or where it is not allowed, or the tool was started with another
 * nice value than 0, nobody does.
 */
void priority_begin(void);
/* What was started by who goes first comes like others; so does the calling thread. */
void priority_leave(void);
/* The main thread does so once the process has had so much more of the CPUs. It is to be at its end by then, mostly. */
void priority_leave_after(unsigned cpu_ms);

struct priority_watch {
	uint64_t since_ns, ran_ns;
};
/*
 * To be called often: the thread, 0 for the calling one, goes first, but not while it takes more of a CPU than others can spare.
 * ran_ns: what it has had of the CPUs so far
 */
void priority_watch(struct priority_watch *watch, pid_t tid, uint64_t ran_ns);

#endif
