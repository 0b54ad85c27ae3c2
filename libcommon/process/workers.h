/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes that do slow or dangerous work: they read foreign files and memory, and parse them. Such a call may hang in a
 * FUSE server, and then not even SIGKILL ends it. A thread would hang the tool; a child is abandoned and replaced.
 *
 * A worker owns nothing but its job. The request lies in memory that it shares with the tool; the worker overwrites it with the
 * answer, and the tool copies that. The tool's one thread asks, goes on, and takes answers. Do not trust an answer: a hostile file
 * may have taken over the worker.
 */
#ifndef EHPERF_PROCESS_WORKERS_H
#define EHPERF_PROCESS_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/worker_child.h"

struct workers;

struct worker_answer {
	uint64_t tag;		/* the job's */
	/* 0, -ETIMEDOUT (it slept), -ETIME (too much CPU), -ECHILD (it died), -ENOMEM, -EAGAIN (none can be started) */
	int error;
	const void *bytes;	/* a copy, which no worker can change any more; valid until the next take or free */
	size_t nr;
};

/*
 * Workers start when they are needed. A process that was forked when the first were made starts them: they inherit nothing of what
 * the caller has later. Those with an arg have one of their own: they have a copy of what arg points to as it is now. 0 or -errno
 */
int workers_new(struct workers **workers, unsigned nr, size_t area_bytes, const struct worker_limits *limits,
		worker_fn *work, void *arg);
/* Starts the first worker now: on a slow machine, the first answer comes sooner. Any other one starts when it is needed. */
void workers_start(struct workers *workers);
/* Ends all workers, and drops the jobs; what is asked afterwards starts new ones. Does not wait for those that cannot be ended. */
void workers_stop(struct workers *workers);
/* Ends all workers; does not wait for those that cannot be ended. */
void workers_free(struct workers *workers);

/*
 * Adds a job, which begins when a worker is free. The request is copied. The owner whose jobs have
 * used the workers least of late comes first. Where other owners want much, one worker is kept free for owner 0. 0, -E2BIG or
 * -ENOMEM
 */
int workers_ask(struct workers *workers, uint64_t tag, uint64_t owner, const void *request, size_t bytes);
/* Takes back the job with this tag, unless a worker has it. Was there one? */
bool workers_cancel(struct workers *workers, uint64_t tag);
/* Takes an answer, or a failure. False: there is none yet; call again within 100 ms */
bool workers_take(struct workers *workers, struct worker_answer *answer);
/* how many jobs were not taken yet */
size_t workers_nr_asked(const struct workers *workers);

/* for poll(): readable when an answer has come */
int workers_fd(const struct workers *workers);
/* Waits for an answer, at most so long. */
void workers_wait(const struct workers *workers, int ms);

/* Does a single job, and waits for its answer. No other job may be pending. */
struct worker_answer workers_call(struct workers *workers, const void *request, size_t bytes);

#endif
