/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MMAP2, COMM and FORK records of a dummy perf event on every online CPU, as process events. CPUs
 * may come and go.
 */
#ifndef EHPERF_PROCESS_PERF_RECORDS_H
#define EHPERF_PROCESS_PERF_RECORDS_H

#include "process/process_event.h"

struct perf_records;

/* 0 or -errno */
int perf_records_open(struct perf_records **records);
void perf_records_close(struct perf_records *records);

/* an fd for poll(): readable when one of the buffers is half full */
int perf_records_fd(const struct perf_records *records);

/*
 * Passes each event since the last call to take(), ordered by time within a CPU only. 0, or the
 * first error of take()
 */
int perf_records_read(struct perf_records *records,
		      int (*take)(void *arg, const struct process_event *event), void *arg);

#endif
