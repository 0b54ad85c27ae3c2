/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timeline: for each thread, from its first moment observed to its last, intervals that tile it
 * without gap or overlap. What arrives (wallprof_abi.h) is kept in a file, so that memory stays
 * bounded; afterwards it can be visited, thread by thread, in order of time. Times are
 * CLOCK_MONOTONIC, in nanoseconds.
 *
 * Running is what the scheduler has counted as the thread's time on a CPU. What the hypervisor took
 * of that is waiting.
 */
#ifndef EHPERF_WALLPROF_TIMELINE_H
#define EHPERF_WALLPROF_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wall_state { WALL_RUNNING, WALL_WAITING, WALL_BLOCKED, WALL_LOST, NR_WALL_STATES };

/* keys: 1 + the index in timeline_keys(); 0: none */
struct interval {
	enum wall_state state;
	uint64_t from_ns, to_ns;
	uint32_t key;   /* blocked and waiting: who, in which state and stacks */
	uint32_t waker; /* blocked: who ended it */
	/* blocked and waiting: where it ran then; running: where, or NO_CPU; else 0 */
	uint32_t cpu;
	uint32_t nr_lost; /* lost: how many periods */
	bool open;        /* blocked or waiting when the measurement ended */
};

#define NO_CPU UINT32_MAX

/* what was observed of one thread */
struct life {
	uint32_t pid, tid;
	uint32_t uid;  /* 0: not known, or root's */
	char comm[16]; /* its last name */
	uint64_t from_ns, to_ns;
	uint64_t nr_periods, nr_samples, nr_lost; /* kept; periods lost */
	struct life_log *log;                     /* private, */
	bool cut; /* and whether it has more than from_ns up to to_ns */
	/*
	 * instead of it, of a recording: where its lines stand in the file
	 * (wallprof/wall_recording.h)
	 */
	struct wall_recording *recording;
	int64_t place;
	uint64_t place_line;
};

/* what a key's threads did since key_times were taken last */
struct key_times {
	uint64_t periods, blocked_ns, waiting_ns, samples;
};

struct timeline;

/* 0 or -errno */
int timeline_new(struct timeline **timeline);
void timeline_free(struct timeline *timeline);

/*
 * A copy of what was taken of this time so far, finished and cut: with the periods that were open
 * when timeline_take_open() was told of them last. It must be freed before the timeline. 0 or
 * -errno
 */
int timeline_copy(struct timeline **copy, const struct timeline *timeline, uint64_t from_ns,
		  uint64_t to_ns);

/* Takes a record, of a struct timeline: 0, -EBADMSG or -ENOMEM. */
int timeline_take(void *timeline, const void *record, size_t bytes);
/*
 * Adds a period that goes on to the times of its key, up to ran_ns. drained: all records of what
 * was before it have been taken; else it is left out if periods before it are missing, which may
 * still come
 */
struct life_period;
int timeline_take_open(struct timeline *timeline, const struct life_period *period, bool drained);

/*
 * Ends the lives of which no end was received. 0, or the -errno by which writing failed: then the
 * rest is lost
 */
int timeline_finish(struct timeline *timeline);

/*
 * From now on, tells the lanes what the threads do, too: up to their last periods and, after
 * timeline_tell_runs(), up to their last samples. They must outlive the timeline.
 */
struct lanes;
void timeline_tell(struct timeline *timeline, struct lanes *lanes);
/* 0 or -ENOMEM */
int timeline_tell_runs(struct timeline *timeline);

/* Afterwards: forgets what was before and after this time. 0 or -errno */
int timeline_cut(struct timeline *timeline, uint64_t from_ns, uint64_t to_ns);
/* Afterwards: forgets other lives than these. */
void timeline_keep(struct timeline *timeline, bool (*is_kept)(void *arg, const struct life *life),
		   void *arg);

/* the lives, in order of their processes and threads; once finished */
const struct life *timeline_lives(const struct timeline *timeline, size_t *nr);
/* the numbers of the key_records that were named */
const uint32_t *timeline_keys(const struct timeline *timeline, size_t *nr);
/* and their times, which who takes them sets to 0 */
struct key_times *timeline_times(struct timeline *timeline);

/*
 * The functions may be NULL; an error of theirs ends the visit. Intervals come in order of time,
 * and samples, too: those of a run before its interval.
 */
struct timeline_visitor {
	int (*interval)(void *arg, const struct life *life, const struct interval *interval);
	int (*sample)(void *arg, const struct life *life, uint64_t time_ns, uint32_t key);
	void *arg;
};
int timeline_visit(const struct life *life, const struct timeline_visitor *visitor);

#endif
