/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes that do what another process can delay or make expensive: open and read foreign files,
 * parse them, read foreign memory. Such a call may never return, and cannot even be killed while a FUSE
 * server has it; a thread would hold the whole tool there, a child is given up and replaced.
 *
 * A worker owns nothing but its job: the request is written into an area of memory that it shares with the
 * tool, and it writes the answer over it, of which the tool makes a copy. All else stays with the tool's one thread, which asks,
 * goes on, and takes answers. Do not trust an answer: what the worker has read may have taken it over.
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

/* 0 or -errno. Nothing is started before it is needed; `work` runs with what arg points to as it was then. */
int workers_new(struct workers **workers, unsigned nr, size_t area_bytes, const struct worker_limits *limits,
		worker_fn *work, void *arg);
/* Starts them now: what the caller has later, they do not take along. Who cannot be started is when needed. */
void workers_start(struct workers *workers);
/* Ends all workers; does not wait for those that cannot be ended. */
void workers_free(struct workers *workers);

/*
 * Adds a job, which begins when a worker is free. The request is copied. Of several owners' jobs those come first for whom
 * the workers have done least of late; where the others want much, one worker is left to owner 0. 0, -E2BIG or -ENOMEM
 */
int workers_ask(struct workers *workers, uint64_t tag, uint64_t owner, const void *request, size_t bytes);
/* Takes back the job with this tag, unless a worker has it. Was there one? */
bool workers_cancel(struct workers *workers, uint64_t tag);
/* An answer, or the news that there will be none. False: there is none yet; call again within 100 ms */
bool workers_take(struct workers *workers, struct worker_answer *answer);
/* how many jobs were not taken yet */
size_t workers_nr_asked(const struct workers *workers);

/* for poll(): readable when an answer has come */
int workers_fd(const struct workers *workers);
/* Waits for an answer, so long at most. */
void workers_wait(const struct workers *workers, int ms);

/* One job by itself, where no other is asked for: waits for its answer. */
struct worker_answer workers_call(struct workers *workers, const void *request, size_t bytes);

#endif
