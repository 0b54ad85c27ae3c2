/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raises the priority of the tool's threads and workers. On a machine with many runnable threads, measured data would be lost if
 * the threads that read it, or make tables for it, ran last. So they run first, as long as they take little CPU time: by a nice
 * value of -20, and where more than 32 threads a CPU are runnable, which no nice value helps against, by the lowest priority of
 * SCHED_RR.
 */
#ifndef EHPERF_PROCESS_PRIORITY_H
#define EHPERF_PROCESS_PRIORITY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Raises the priority of the calling thread, and of what it starts. Does nothing if that is not allowed, or if the tool was
 * started with a nice value other than 0. Without this call, the functions below do nothing.
 */
void priority_begin(void);
/* Gives the calling thread the normal priority, also if its parent's is raised. */
void priority_leave(void);
/* The main thread does so after this much more CPU time of the process, when reports are usually done. */
void priority_leave_after(unsigned cpu_ms);
/* The same, but raises the priority again before, even if the thread has taken much CPU time: somebody waits for the last report. */
void priority_take_for(unsigned cpu_ms);

struct priority_watch {
	uint64_t since_ns, ran_ns;
};
/*
 * To be called often: raises the priority of the thread (0: the calling one), and lowers it while the thread takes too much CPU
 * time. ran_ns: its CPU time so far
 */
void priority_watch(struct priority_watch *watch, pid_t tid, uint64_t ran_ns);

#endif
