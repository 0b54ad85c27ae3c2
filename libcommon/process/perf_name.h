/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's names of events, by libpfm: page-faults, cycles, L1-dcache-load-misses, r01c2, and what
 * the CPU's model has.
 */
#ifndef EHPERF_PROCESS_PERF_NAME_H
#define EHPERF_PROCESS_PERF_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* the fields of struct perf_event_attr that say which event it is */
struct perf_encoding {
	uint32_t type;
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel;
};

/* 0 or -ENOENT */
int perf_name_encode(const char *name, struct perf_encoding *encoding);

/* cpu-clock and task-clock: the event is the passing of a nanosecond */
bool perf_encoding_is_clock(const struct perf_encoding *encoding);
/* does the kernel itself count it, so that it exists on every machine? */
bool perf_encoding_is_software(const struct perf_encoding *encoding);

/* Calls found() for each name that matches, until it returns an error, which is returned. */
int perf_names(const char *pattern, int (*found)(void *arg, const char *name), void *arg);

#endif
