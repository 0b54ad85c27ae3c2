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
	int fd, cpu; /* fd -1: the CPU is offline */
	/* the CPU's idle and stolen time, by /proc/stat, until the event was enabled */
	uint64_t absent_before_ns;
	/* since then, and the event's own count: at the last perf_events_look() */
	uint64_t absent_ns, count;
	uint64_t lost; /* by the last perf_events_lost(), without .blind */
	/*
	 * overflows at most before it was noticed that the CPU had come, and those that were lost
	 * before it was offline
	 */
	uint64_t blind;
	bool was_offline; /* meanwhile; it had another event before */
};

struct perf_events {
	struct perf_event *events;
	size_t nr, room; /* one for each CPU that was online at some time */
	struct perf_encoding event;
	uint64_t frequency; /* with period 0 */
	/*
	 * an overflow every so many; of a clock, nanoseconds; 0: at a rate, by a period that varies
	 */
	uint64_t period;
	bool is_clock;
	bool ended; /* by perf_events_disable() */
	/*
	 * samples of idle CPUs are expected, too; the caller's to set before the events are enabled
	 */
	bool idle_counts;
};

/*
 * Opens a cpu-clock event on each of these CPUs, disabled, that overflows every period_ns. CPUs
 * that went offline are left out. 0, or -errno of perf_event_open().
 */
int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus,
			   uint64_t period_ns);
/* perf_events_open_clock() for another event; period 0: `frequency` times a second */
int perf_events_open(struct perf_events *events, const struct cpu_set *cpus,
		     const struct perf_encoding *event, uint64_t period, uint64_t frequency);
int perf_events_enable(struct perf_events *events);
/* For good, with a last perf_events_look(). 0 or -errno */
int perf_events_disable(struct perf_events *events);

/* 0 or -errno */
typedef int perf_event_fn(void *arg, int fd);
/*
 * CPUs have come or gone within the last blind_ns, and these are the ones to measure now. An event
 * ends with its CPU and does not come back with it: opens new ones, calls attach() for each and
 * enables it. 0 or -errno
 */
int perf_events_follow(struct perf_events *events, const struct cpu_set *cpus, uint64_t blind_ns,
		       perf_event_fn *attach, void *arg);

/*
 * how often the events' program ran on a CPU, and how many of these runs interrupted the idle task
 */
struct perf_runs {
	uint64_t runs, idle_runs;
};

/* Reads the events' counts by now, or by their end, for perf_events_lost(). 0 or -errno */
int perf_events_look(struct perf_events *events);
/*
 * How many overflows of these events until the last perf_events_look() their program did not see,
 * by the events' own counts; 0 if the period varies. runs[] is indexed by CPU, and was read later:
 * while the events are enabled, what came in between hides as many losses.
 *
 * An idle CPU may sleep through its clock's overflows, and a virtual CPU may be descheduled by the
 * hypervisor: nothing of interest ran then, so that nothing is lost. /proc/stat gives idle and
 * stolen time with an error of up to 20 ms. So on a CPU that had any, losses that amount to less
 * than that are not noticed, and of one that was offline meanwhile only .blind is.
 */
uint64_t perf_events_lost(struct perf_events *events, const struct perf_runs *runs);
void perf_events_close(struct perf_events *events);

#endif
