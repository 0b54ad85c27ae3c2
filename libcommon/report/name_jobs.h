/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions for names, as jobs of workers (report/namer_work.h): who is asked, for what, and what
 * the answers say.
 */
#ifndef EHPERF_REPORT_NAME_JOBS_H
#define EHPERF_REPORT_NAME_JOBS_H

#include "process/workers.h"
#include "report/name_sources.h"

enum name_job_kind {
	NAME_ASK,     /* somebody waits */
	NAME_PREPARE, /* reads a file's names, or which debug file it has: it may vanish soon */
	NAME_FOLLOW,  /* names of code that may move soon */
};

struct name_job {
	enum name_job_kind kind;
	enum name_set set;
	uint64_t source; /* name_source_key() */
	/*
	 * of NAME_ASK: an answer to an earlier question, whose report was interrupted, may still
	 * come
	 */
	uint64_t number : 17;
};

struct name_jobs {
	struct name_sources *sources;
	struct workers *workers[NR_NAME_SETS];
	uint64_t nr_ended; /* workers for code in no file, when that was last looked at */
	uint64_t request[NAMER_MAX_REQUEST / sizeof(uint64_t) + 1];
};

/* 0 or -errno */
int name_jobs_init(struct name_jobs *jobs, struct name_sources *sources);
void name_jobs_free(struct name_jobs *jobs);

/*
 * Asks for the names of these frames, MAX_NAMED at most; with none, has the file's names read.
 * asks_debug: asks which debug file the file has instead. 0 or -ENOMEM
 */
int name_jobs_give(struct name_jobs *jobs, const struct name_job *job, bool asks_debug,
		   const uint64_t *frames, size_t nr);
/* Do so many of its owner wait that no more should be given? */
bool name_jobs_are_many(const struct name_jobs *jobs, const struct name_job *job);
/* Takes back a job of this set. False: workers have begun all of them */
bool name_jobs_cancel(struct name_jobs *jobs, enum name_set set, struct name_job *job);
/* Drops the job, and ends the worker that has begun it. */
void name_jobs_give_up(struct name_jobs *jobs, const struct name_job *job);
/*
 * Takes an answer, or a failure, of any job of the set. False: none is there. Call again within 100
 * ms
 */
bool name_jobs_take(struct name_jobs *jobs, enum name_set set, struct name_job *job,
		    struct worker_answer *answer);

/* Has the source's file and its debug files opened: namer_take_files() */
struct worker_file name_jobs_open(struct name_jobs *jobs, const struct name_source *source);

/* a frame in an answer */
struct answered_frame {
	struct named_frame found;
	const char *symbol, *raw; /* NULL: none */
};

/*
 * Reads the next frame of an answer, which may be anything, at *at, and steps over it. 1; 0: there
 * is none left; -EBADMSG: this cannot be an answer about the source
 */
int name_answer_next(const struct name_source *source, const struct worker_answer *answer,
		     size_t *at, struct answered_frame *frame);
/* The debug file that an answer names. 1; 0: the file cannot be read now; -EBADMSG */
int name_answer_debug(const struct worker_answer *answer, struct debug_key *key);

#endif
