/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2) on every CPU: clocks that sample. */
#ifndef EHPERF_PROCESS_PERF_EVENTS_H
#define EHPERF_PROCESS_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/cpu_set.h"

struct perf_event_attr;

/* the event's fd, or -errno */
int perf_event_open_cpu(struct perf_event_attr *attr, int cpu);

struct perf_event {
	int fd, cpu;
	uint64_t absent_ns;	/* idle or stolen by the hypervisor, by /proc/stat: when enabled, then while enabled */
};

struct perf_events {
	struct perf_event *events;
	size_t nr;
	uint64_t period_ns;
};

/*
 * A disabled cpu-clock event on each of these CPUs that overflows every period_ns of time. CPUs that
 * went offline are left out. 0, or -errno of perf_event_open().
 */
int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus, uint64_t period_ns);
int perf_events_enable(struct perf_events *events);
void perf_events_disable(struct perf_events *events);

/* how often the program on the events ran, on each CPU, and how often of that in the idle task */
struct perf_runs {
	uint64_t runs, idle_runs;
};

/*
 * Overflows that no program saw, of disabled events, by the events' own counts; runs[] is indexed by CPU.
 * A CPU may sleep through its clock while it is idle, and a virtual one is away while the hypervisor
 * runs others: nothing runs then, so nothing is lost. /proc/stat tells that to 20 ms, so on a CPU that was absent
 * at all, losses of less time than that are not seen.
 */
uint64_t perf_events_lost(const struct perf_events *events, const struct perf_runs *runs);
void perf_events_close(struct perf_events *events);

#endif
