/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raises the priority of the tool's threads and workers. On a machine with many runnable threads,
 * measured data would be lost if the threads that read it, or make tables for it, ran last. So they
 * run first, as long as they take little CPU time. They get a nice value of -20. Where more than 32
 * threads a CPU are runnable, that is too little: they get the lowest priority of SCHED_RR, too.
 */
#ifndef EHPERF_PROCESS_PRIORITY_H
#define EHPERF_PROCESS_PRIORITY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Raises the priority of the calling thread. Threads and processes that it starts have the normal
 * one. Does nothing if that is not allowed, or if the tool was started with another nice value than
 * 0 or another policy than SCHED_OTHER. Without this call, the functions below do nothing.
 */
void priority_begin(void);
/* Starts a thread with the priority of the calling one. 0 or -errno */
int priority_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);
/*
 * The main thread does so after this much more CPU time of the process, when reports are usually
 * done.
 */
void priority_leave_after(unsigned cpu_ms);
/*
 * The same, but raises the priority again before, even if the thread has taken much CPU time:
 * somebody waits for the last report.
 */
void priority_take_for(unsigned cpu_ms);

struct priority_watch {
	uint64_t since_ns, ran_ns;
	pid_t tid;
	bool takes_much;
};
/*
 * To be called often: raises the priority of the thread (0: the calling one), and lowers it while
 * the thread takes too much CPU time. ran_ns: its CPU time so far. A thread that has taken the
 * place of another one begins with that one's priority
 */
void priority_watch(struct priority_watch *watch, pid_t tid, uint64_t ran_ns);

#endif
