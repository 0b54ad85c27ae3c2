/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2) on every CPU: clocks and other events that sample. */
#ifndef EHPERF_PROCESS_PERF_EVENTS_H
#define EHPERF_PROCESS_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/cpu_set.h"
#include "process/perf_name.h"

struct perf_event_attr;

/* the event's fd, or -errno */
int perf_event_open_cpu(struct perf_event_attr *attr, int cpu);

struct perf_event {
	int fd, cpu;
	/*
	 * The CPU's idle and stolen time by /proc/stat. Once the event is enabled: the total at that moment;
	 * once it is disabled: the time while it was enabled.
	 */
	uint64_t absent_ns;
};

struct perf_events {
	struct perf_event *events;
	size_t nr;
	uint64_t period;	/* an overflow every so many; of a clock, nanoseconds; 0: at a rate, by a period that varies */
	bool is_clock;
};

/*
 * Opens a cpu-clock event on each of these CPUs, disabled, that overflows every period_ns. CPUs that went
 * offline are left out. 0, or -errno of perf_event_open().
 */
int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus, uint64_t period_ns);
/* the same for another event; period 0: `frequency` times a second */
int perf_events_open(struct perf_events *events, const struct cpu_set *cpus, const struct perf_encoding *event,
		     uint64_t period, uint64_t frequency);
int perf_events_enable(struct perf_events *events);
void perf_events_disable(struct perf_events *events);

/* how often the events' program ran on a CPU, and how many of these runs interrupted the idle task */
struct perf_runs {
	uint64_t runs, idle_runs;
};

/*
 * How many overflows of these events, now disabled, their program did not see, by the events' own counts; 0 if the
 * period varies. runs[] is indexed by CPU.
 *
 * An idle CPU may sleep through its clock's overflows, and a virtual CPU may be descheduled by the
 * hypervisor: nothing of interest ran then, so that nothing is lost. /proc/stat gives idle and stolen time
 * with an error of up to 20 ms. So on a CPU that had any, losses that amount to less than that are not
 * noticed.
 */
uint64_t perf_events_lost(const struct perf_events *events, const struct perf_runs *runs);
void perf_events_close(struct perf_events *events);

#endif
