/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread did lately, for a timeline that is drawn: sums by state of short slices of time.
 * Its memory is bounded: what is oldest goes. Slices of a thread that are alike take the room of
 * one.
 */
#ifndef EHPERF_LIVE_LANES_H
#define EHPERF_LIVE_LANES_H

#include <stddef.h>
#include <stdint.h>

enum lane_state { LANE_RUNNING, LANE_WAITING, LANE_BLOCKED, LANE_LOST, NR_LANE_STATES };
/* each begins with another letter */
extern const char *const lane_names[NR_LANE_STATES];

#define LANE_SLICE_NS 25000000

struct lanes;

/* who does it; id: another one for each thread that there was, not 0 */
struct lane_thread {
	uint32_t id, pid, tid;
	char comm[16];
};

struct lane_time {
	uint64_t ns[NR_LANE_STATES];
};

/* slices that follow each other and are alike; each is from 0 on, since lanes_from() */
struct lane_piece {
	uint32_t first, nr;
	uint32_t ns[NR_LANE_STATES]; /* of each of them */
};

/*
 * Times are CLOCK_MONOTONIC; what was before from_ns is left out. max_bytes: approximate. NULL: no
 * memory
 */
struct lanes *lanes_new(uint64_t from_ns, size_t max_bytes);
void lanes_free(struct lanes *lanes);

/* Adds what the thread did, in order of time for each thread. 0 or -ENOMEM */
int lanes_add(struct lanes *lanes, const struct lane_thread *thread, enum lane_state state,
	      uint64_t from_ns, uint64_t to_ns);

uint64_t lanes_from(const struct lanes *lanes);
size_t lanes_bytes(const struct lanes *lanes);

/*
 * Calls see() for each thread of which there is anything from from_ns to to_ns: with the time by
 * state. Here and below, times less lanes_from() are multiples of LANE_SLICE_NS. 0, or what see()
 * returned that is not 0
 */
int lanes_visit(const struct lanes *lanes, uint64_t from_ns, uint64_t to_ns,
		int (*see)(void *arg, const struct lane_thread *thread,
			   const struct lane_time *time),
		void *arg);
/*
 * Calls see() for each thread with what is new of it since the last call: pieces in order of time,
 * without a slice that may get more. What see() returns -ENOSPC for is new in the next call, too.
 * 0, or what else it returned that is not 0
 */
int lanes_visit_new(struct lanes *lanes,
		    int (*see)(void *arg, const struct lane_thread *thread,
			       const struct lane_piece *pieces, size_t nr),
		    void *arg);
/*
 * The thread's time by state in each of nr cells of cell_ns, the first of which begins at from_ns
 */
void lanes_cells(const struct lanes *lanes, uint32_t id, uint64_t from_ns, uint64_t cell_ns,
		 size_t nr, struct lane_time *cells);

#endif
