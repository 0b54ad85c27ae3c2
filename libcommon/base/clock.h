/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK_MONOTONIC: also the clock of bpf_ktime_get_ns() and of our perf records. */
#ifndef EHPERF_BASE_CLOCK_H
#define EHPERF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* the CPU time of this process */
static inline uint64_t clock_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double clock_seconds(void)
{
	return clock_ns() / 1e9;
}

/* converts a time of CLOCK_MONOTONIC to CLOCK_REALTIME; right if the clock was not set since */
static inline uint64_t clock_realtime_ns(uint64_t monotonic_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec - (clock_ns() - monotonic_ns);
}

#endif
