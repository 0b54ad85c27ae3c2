/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of threads' lives, in the order of time for each thread. All times are
 * CLOCK_MONOTONIC.
 */
#ifndef EHPERF_WALLPROF_ABI_H
#define EHPERF_WALLPROF_ABI_H

#include <linux/types.h>

enum life_kind {
	LIFE_BEGINS,   /* a life_name: a new thread */
	LIFE_OBSERVED, /* a life_name: a thread that exists already */
	LIFE_RENAMED,  /* a life_name */
	LIFE_PERIOD,   /* a life_period */
	LIFE_SHORT,    /* a life_short_period */
	LIFE_SAMPLE,   /* a life_sample: on the CPU */
	LIFE_EXITS,    /* a life_end: still runs, but will end. taken_ns is of the run before */
	LIFE_ENDS,     /* a life_end: left the CPU for the last time */
	LIFE_OPEN,     /* a life_period that was open when the measurement ended */
	LIFE_RUNS,     /* a life_end: was on the CPU when the measurement ended */
};

/* what each record begins with */
struct life_header {
	__u64 tid : 22;
	/*
	 * of periods: counted by thread from 1 on, so that a gap tells how many were lost; of ends:
	 * the last one's
	 */
	__u64 number : 24;
	__u64 cpu : 14; /* where it ran again, or was sampled */
	__u64 kind : 4;
};
_Static_assert(sizeof(struct life_header) == 8, "struct life_header");
#define LIFE_NUMBERS (1u << 24)

/*
 * Off the CPU, and back. key and waker: numbers of key_records (records_abi.h), who it was, in
 * which stacks; waker 0: not known. taken_ns: how much of the run before it, from the switch to the
 * thread to the switch away from it, the scheduler has not counted as the thread's; less than 0: it
 * has counted so much more.
 */
struct life_period {
	struct life_header of;
	__u64 left_ns;
	__u64 woken_ns; /* left_ns: it left the CPU runnable */
	__u64 ran_ns;
	__u32 key, waker;
	__s64 taken_ns;
};
_Static_assert(sizeof(struct life_period) == 48, "struct life_period");

/* the shorter form of the record, which fits most periods */
struct life_short_period {
	struct life_header of;
	__u64 left_ns;
	__u32 key, waker;
	__u64 blocked_ns : 48, waiting_low : 16;
	__u64 waiting_high : 24;
	__s64 taken_ns : 40;
};
_Static_assert(sizeof(struct life_short_period) == 40, "struct life_short_period");

struct life_sample {
	struct life_header of;
	__u64 time_ns;
	__u32 key, pad;
};

struct life_name {
	struct life_header of;
	__u64 time_ns;
	__u32 pid, uid; /* uid: as in struct stack_key */
	char comm[16];
};
_Static_assert(sizeof(struct life_name) == 40, "struct life_name");

struct life_end {
	struct life_header of;
	__u64 time_ns;
	__s64 taken_ns; /* as in life_period */
};

#endif
