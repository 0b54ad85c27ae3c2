/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers: child processes that do slow or dangerous work. They read files and memory of any user,
 * and parse them. A read may hang in a FUSE server, and then not even SIGKILL ends it. A thread
 * would hang the tool; a child is abandoned and replaced.
 *
 * A worker is told nothing about the tool except its job. The request lies in memory that it shares
 * with the tool. The worker overwrites it with the answer, and the tool copies that. The tool's one
 * thread asks, goes on, and takes answers later. Do not trust an answer: a hostile file may have
 * taken over the worker.
 */
#ifndef EHPERF_PROCESS_WORKERS_H
#define EHPERF_PROCESS_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/worker_child.h"

struct workers;

/*
 * An owner, a uint64_t, says for whom a job is done. The upper half is a user, or 0 for root and
 * the users that count as root (process/trust.h). The caller chooses the lower half, to divide a
 * user's jobs among several owners.
 */
#define OWNERS_UID(owner) ((uint32_t)((owner) >> 32))
#define OWNERS_APART      (UINT64_MAX << 32) /* limits.apart of a worker that serves one user only */

struct worker_answer {
	uint64_t tag; /* of the job */
	/*
	 * 0, -ETIMEDOUT (the worker was blocked for too long, or see workers_ask()), -ETIME (too
	 * much CPU time), -ECHILD (it died), -EAGAIN (no worker can be started), -E2BIG (the answer
	 * or the opener's request is too large), -ENOMEM, or what epoll_ctl(2) returned
	 */
	int error;
	/* a copy, which no worker can change any more; valid until the next take or free */
	const void *bytes;
	size_t nr;
	struct worker_file file; /* of workers that open: the caller's, worker_file_close() */
};

/*
 * Makes a set of up to nr workers; each starts when it is needed. They are forked by a starter
 * (worker_starter.h), so that they inherit nothing that the caller gets later. All sets share the
 * starter; a call of this function forks it, if there is none. If it fails, the caller forks the
 * workers itself. 0 or -errno
 */
int workers_new(struct workers **workers, unsigned nr, size_t area_bytes,
		const struct worker_limits *limits, worker_fn *work);
/*
 * Starts the first worker now, so that the first answer comes sooner. Any other worker starts when
 * it is needed.
 */
void workers_start(struct workers *workers);
/* Ends all workers; does not wait for those that cannot be ended. */
void workers_free(struct workers *workers);

/*
 * Adds a job, which begins when a worker is free. The request is copied. The owner who has used the
 * least of the workers' time recently comes next. With an opener, a job's time is its CPU time and
 * the time until its file was open; without one, all time from its beginning to its end.
 *
 * If the set has several workers, one is kept free for root while other users use much time. A
 * worker that waits for a server that hangs does not end when it is killed. While a user has too
 * many of these, or all users but root have, the user's jobs get -ETIMEDOUT. 0, -E2BIG or -ENOMEM
 */
int workers_ask(struct workers *workers, uint64_t tag, uint64_t owner, const void *request,
		size_t bytes);
/*
 * Takes back one job with this tag that waits. A tag may be that of several jobs. False: no job
 * with this tag waits
 */
bool workers_cancel(struct workers *workers, uint64_t tag);
/* Takes back any job that waits; sets *tag to its tag. */
bool workers_cancel_any(struct workers *workers, uint64_t *tag);
/* Drops the job with this tag, and ends the worker that has begun it. */
void workers_give_up(struct workers *workers, uint64_t tag);
/* Takes an answer, or a failure. False: no job has ended yet; call again within 100 ms */
bool workers_take(struct workers *workers, struct worker_answer *answer);
/* how many workers of this set have ended, ever. What an ended worker knew is gone */
uint64_t workers_nr_ended(const struct workers *workers);
/* how many jobs were asked for whose answers were not taken yet */
size_t workers_nr_asked(const struct workers *workers);
/* how many jobs of this owner wait: no worker has begun them, nor is their file being opened */
size_t workers_nr_waiting(const struct workers *workers, uint64_t owner);

/* for poll(): readable when an answer has come */
int workers_fd(const struct workers *workers);
/* Waits for an answer, at most so long. */
void workers_wait(const struct workers *workers, int ms);

/*
 * Has the opener of these workers open what an owner's request names, and waits. The caller closes
 * it: worker_file_close(). .fd: may be -errno
 */
struct worker_file workers_open(struct workers *workers, uint64_t owner, const void *request,
				size_t bytes);

/*
 * Does a single job of this owner, and waits for its answer. No other job may be pending. keep
 * identifies the file that the opener opens for it: the worker leaves the file open, and the opener
 * is not asked if the next job has the same number. 0: the file is closed after the job
 */
struct worker_answer workers_call(struct workers *workers, uint64_t owner, const void *request,
				  size_t bytes, uint64_t keep);

#endif
