/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK_MONOTONIC: also the clock of bpf_ktime_get_ns() and of our perf records. */
#ifndef EHPERF_PROCESS_CLOCK_H
#define EHPERF_PROCESS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double clock_seconds(void)
{
	return clock_ns() / 1e9;
}

#endif
