/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a life: its periods and samples in order of time, in a few bytes each. Full parts of
 * all logs are written to one spool file, without a name, in $TMPDIR or /tmp.
 */
#ifndef EHPERF_WALLPROF_LIFE_LOG_H
#define EHPERF_WALLPROF_LIFE_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct spool;
/* 0 or -errno */
int spool_new(struct spool **spool);
void spool_free(struct spool *spool);
/* 0, or the -errno by which writing failed first; nothing is kept from then on */
int spool_error(const struct spool *spool);

struct logged_period {
	uint32_t number; /* from 1 on, by thread (wallprof_abi.h) */
	uint32_t cpu, key, waker;
	bool open;
	uint64_t left_ns, woken_ns, ran_ns;
	int64_t taken_ns; /* of the run before it, as in struct life_period */
};

struct life_log;
/* NULL: no memory; the spool is the caller's */
struct life_log *life_log_new(struct spool *spool, uint64_t from_ns);
/*
 * A copy that reads the same spool, but writes nothing there: what is logged now is only in its
 * memory. NULL: no memory
 */
struct life_log *life_log_copy(const struct life_log *log);
void life_log_free(struct life_log *log);

/* Sets the beginning, while nothing is logged. */
void life_log_begin(struct life_log *log, uint64_t from_ns);
/*
 * Each logs what comes next: how many periods were lost before it. Times do not go back, samples'
 * neither: they are corrected.
 */
uint32_t life_log_period(struct life_log *log, const struct logged_period *period);
void life_log_sample(struct life_log *log, uint64_t time_ns, uint32_t key);
/* last: the number of the last period that there was */
uint32_t life_log_last(struct life_log *log, uint32_t last, uint64_t time_ns, int64_t taken_ns);
/* Nothing more comes: what is not in the spool yet goes there. */
void life_log_close(struct life_log *log);
/* the number of the last period that it knows of */
uint32_t life_log_number(const struct life_log *log);
/* from when, and up to when it reaches */
uint64_t life_log_from(const struct life_log *log);
uint64_t life_log_end(const struct life_log *log);
/* the last sample's time; 0: there is none */
uint64_t life_log_sampled(const struct life_log *log);

enum log_kind { LOG_PERIOD, LOG_SAMPLE, LOG_END };
struct log_entry {
	enum log_kind kind;
	uint32_t nr_lost;            /* periods before this one, or before the end */
	struct logged_period period; /* LOG_PERIOD; without the number. LOG_END: taken_ns alone */
	uint64_t time_ns;            /* others */
	uint32_t key;
};

/* Calls see() for each entry, until it returns an error. 0, that error, or -errno */
int life_log_read(const struct life_log *log, int (*see)(void *arg, const struct log_entry *entry),
		  void *arg);

#endif
