/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all of wallprof's reports are made of. */
#ifndef EHPERF_WALLPROF_WALL_H
#define EHPERF_WALLPROF_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/labels.h"
#include "report/losses.h"
#include "report/stack_entry.h"
#include "report/stack_summary.h"
#include "report/stack_writer.h"
#include "wallprof/timeline.h"

struct wall {
	const struct timeline *timeline;
	const struct life *lives;
	size_t nr_lives;
	/* by the keys' numbers, less 1; NULL: the key was lost */
	const struct stack_entry **keys;
	size_t nr_keys;
	/*
	 * report/idle.h: keys of idle threads' waits have `idle` set; and which of the lives are
	 * idle
	 */
	size_t idle_threads;
	uint64_t idle_ns;
	bool *idle;
	struct wall_limits *limits; /* of a report; NULL: none */
	/*
	 * wall_limit_stacks(): by the keys' numbers, less 1; 0: no room for its frames. NULL: the
	 * numbers
	 */
	uint32_t *ids;
	uint64_t stacks_left_out;
	/* its .ended and .ended_value only, idle waits included; a recording has none */
	struct stack_summary ends;
	uint64_t from_ns, to_ns; /* of all lives */
	uint64_t started_ns;     /* CLOCK_REALTIME at from_ns */
	uint64_t boot_ns;        /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
	uint64_t period_ns;      /* a sample each */
	struct stack_writer writer;
	const char *command; /* the title of pages */
	const struct loss *losses;
	size_t nr_losses;
	const char *said; /* what wall_summary() said, of a recording; NULL: what it says */
	const char *only; /* the search that all threads match, in a view; NULL: all threads */
};

static inline const struct stack_entry *wall_key(const struct wall *wall, uint32_t number)
{
	return number ? wall->keys[number - 1] : NULL;
}

/* Sets .from_ns and .to_ns by the lives. */
void wall_find_range(struct wall *wall);

struct wall_limits {
	uint64_t left_out; /* periods, runs and samples that were visited so far, and had no room */
	uint64_t shown[];  /* how many of them each life has room for */
};

/*
 * Shares a report's room for records among the lives, or for the frames of keys among the keys,
 * which get IDs: until wall_unlimit(). each_record: a stack takes room with each of its key's
 * records. 0 or -ENOMEM
 */
int wall_limit(struct wall *wall, uint64_t max_records);
int wall_limit_stacks(struct wall *wall, uint64_t max_lines, bool each_record);
void wall_unlimit(struct wall *wall);
/*
 * timeline_visit() for a report: what there is no room for is one lost interval. The visitor has
 * both functions.
 */
int wall_visit(const struct wall *wall, const struct life *life,
	       const struct timeline_visitor *visitor);

/* the name of what a thread does: "running", "waiting", "blocked", "lost" */
const char *wall_state_name(enum wall_state state);
/* the letter of the state that it left the CPU in; 0: not known */
char wall_why(const struct stack_entry *key);

/* "comm (pid/tid)", escaped; NULL without memory, the caller frees it */
char *wall_thread_name(const char *comm, uint32_t pid, uint32_t tid);

/*
 * The wall-clock time of each key, by what it was spent with. Samples share the time that their
 * thread ran equally, so that all adds up to the threads' lives. Idle waits are in the sums of
 * lives alone.
 */
struct key_sums {
	uint64_t ns[NR_WALL_STATES];
	uint64_t waited_for_ns; /* blocked time that this key ended, as a waker, */
	uint64_t nr_woken;      /* in so many periods */
	uint64_t nr_blocked;    /* periods of this key */
	uint64_t nr;            /* samples, and periods blocked or waiting */
};

/* of a life: what belongs to no key */
struct life_sums {
	uint64_t ns[NR_WALL_STATES];
	uint64_t blocked_ns[16]; /* ns[WALL_BLOCKED] by enum thread_state */
	uint64_t unsampled_ns;   /* ran without being sampled */
};

struct wall_sums {
	struct key_sums *keys; /* by the keys' numbers, 0 included */
	struct life_sums *lives;
};

/* 0 or -errno */
int wall_sums_make(struct wall_sums *sums, const struct wall *wall);
void wall_sums_free(struct wall_sums *sums);

/* Each key's stack as numbers of labels, root first: for formats that name a frame once. */
struct wall_stack {
	uint32_t *numbers;
	uint32_t nr;
};

struct wall_labels {
	struct labels *labels;
	/* by the keys' numbers; of number 0, and of lost keys, nothing */
	struct wall_stack *stacks;
	size_t nr;
};

/* 0 or -ENOMEM */
int wall_labels_make(struct wall_labels *labels, const struct wall *wall);
void wall_labels_free(struct wall_labels *labels);

/* the reports: 0 or -errno; errors of wall->writer.out are left to ferror() */
int wall_text(const struct wall *wall);
int wall_folded(const struct wall *wall);
int wall_html(const struct wall *wall);
int wall_svg(const struct wall *wall);
int wall_json(const struct wall *wall);
int wall_speedscope(const struct wall *wall);
int wall_perfetto(const struct wall *wall);

/* the formats that are wallprof's own, by the endings of files' names */
#define NR_WALL_FORMATS 4
extern const struct wall_format {
	const char *ending;
	int (*print)(const struct wall *wall);
	/*
	 * what it takes in a file, about: a period or sample, and a frame of a key's stack. 0: it
	 * has sums
	 */
	unsigned record_bytes, frame_bytes;
	bool stack_each_record; /* a key's stack is written with each of its records, not once */
} wall_formats[NR_WALL_FORMATS];

/* Fills in `idle` from the keys; to be freed. 0 or -ENOMEM */
int wall_find_idle_lives(struct wall *wall);

/* Fills in `ends`. The sums must include idle waits. */
void wall_count_ends(struct wall *wall, const struct wall_sums *sums);

/* a line or two on standard error's FILE: how much was seen, and what was lost */
void wall_summary(FILE *out, const struct wall *wall);

#endif
