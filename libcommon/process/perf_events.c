// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

int perf_event_open_cpu(struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- one CPU ---- */

static int open_event(const struct perf_events *events, int cpu)
{
	struct perf_event_attr attr = {
		.type = events->event.type,
		.config = events->event.config,
		.config1 = events->event.config1,
		.config2 = events->event.config2,
		.exclude_user = events->event.exclude_user,
		.exclude_kernel = events->event.exclude_kernel,
		.freq = !events->period,
		.disabled = 1,
	};

	if (events->period)
		attr.sample_period = events->period;
	else
		attr.sample_freq = events->frequency;
	return perf_event_open_cpu(&attr, cpu);
}

/* The CPU's entry, a new one if it has none. NULL: no memory */
static struct perf_event *entry_of(struct perf_events *events, int cpu)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->events[i].cpu == cpu)
			return &events->events[i];
	if (array_reserve(&events->events, &events->room, events->nr + 1))
		return NULL;
	events->events[events->nr] = (struct perf_event){ .fd = -1, .cpu = cpu };
	return &events->events[events->nr++];
}

static bool is_open(const struct perf_events *events, int cpu)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->events[i].cpu == cpu)
			return events->events[i].fd >= 0;
	return false;
}

/* Opens the CPU's event, stopped: *event, or NULL if the CPU is offline. 0 or -errno */
static int open_on(struct perf_events *events, int cpu, struct perf_event **event)
{
	int fd = open_event(events, cpu);

	*event = NULL;
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	*event = entry_of(events, cpu);
	if (!*event) {
		close(fd);
		return -ENOMEM;
	}
	(*event)->fd = fd;
	return 0;
}

int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus,
			   uint64_t period_ns)
{
	static const struct perf_encoding clock = { .type = PERF_TYPE_SOFTWARE,
						    .config = PERF_COUNT_SW_CPU_CLOCK };

	return perf_events_open(events, cpus, &clock, period_ns, 0);
}

int perf_events_open(struct perf_events *events, const struct cpu_set *cpus,
		     const struct perf_encoding *encoding, uint64_t period, uint64_t frequency)
{
	struct perf_events opened = {
		.event = *encoding,
		.period = period,
		.frequency = frequency,
		.is_clock = perf_encoding_is_clock(encoding),
	};
	struct perf_event *event;
	int error = 0;

	for (size_t cpu = 0; cpu < cpus->nr && !error; cpu++)
		if (cpu_set_has(cpus, cpu))
			error = open_on(&opened, cpu, &event);
	if (!error && !opened.nr)
		error = -ENODEV;
	if (error)
		perf_events_close(&opened);
	else
		*events = opened;
	return error;
}

/* ---- idle and stolen time ---- */

static void set_absence(struct perf_event *event, uint64_t absent_ns, bool begins)
{
	if (begins)
		event->absent_before_ns = absent_ns;
	else
		event->absent_ns = absent_ns - event->absent_before_ns;
}

/*
 * Reads the CPUs' time since boot in which no sample is expected: it is stolen, or idle, unless
 * that counts. begins: the events, or only this one, are about to be enabled
 */
static void read_absence(struct perf_events *events, const struct perf_event *only, bool begins)
{
	FILE *stat = fopen("/proc/stat", "re");
	uint64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
	char line[512];

	while (stat && fgets(line, sizeof(line), stat)) {
		unsigned long long idle, iowait, steal;
		int cpu;

		if (sscanf(line, "cpu%d %*u %*u %*u %llu %llu %*u %*u %llu", &cpu, &idle, &iowait,
			   &steal) != 4)
			continue;
		for (size_t i = 0; i < events->nr; i++)
			if (events->events[i].cpu == cpu && (!only || only == &events->events[i]))
				set_absence(&events->events[i],
					    (steal + (events->idle_counts ? 0 : idle + iowait)) *
						    tick_ns,
					    begins);
	}
	if (stat)
		fclose(stat);
}

/* ---- all of them ---- */

static int enable(const struct perf_event *event)
{
	return ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int perf_events_enable(struct perf_events *events)
{
	int error = 0;

	if (events->is_clock)
		read_absence(events, NULL, true);
	for (size_t i = 0; i < events->nr && !error; i++)
		error = enable(&events->events[i]);
	return error;
}

int perf_events_look(struct perf_events *events)
{
	for (size_t i = 0; i < events->nr && !events->ended; i++) {
		struct perf_event *e = &events->events[i];
		ssize_t bytes = e->fd < 0 ? 0 : read(e->fd, &e->count, sizeof(e->count));

		if (bytes < 0)
			return -errno;
	}
	if (events->is_clock && !events->ended)
		read_absence(events, NULL, false);
	return 0;
}

int perf_events_disable(struct perf_events *events)
{
	int error;

	for (size_t i = 0; i < events->nr; i++)
		if (events->events[i].fd >= 0)
			ioctl(events->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	error = perf_events_look(events);
	events->ended = true;
	return error;
}

/* The CPU is gone, and so is its event, for good. */
static void end_on(struct perf_event *event)
{
	close(event->fd);
	event->fd = -1;
	event->was_offline = true;
	event->blind += event->lost;
}

/* The CPU has come at an unknown moment of the last blind_ns. */
static int begin_on(struct perf_events *events, int cpu, uint64_t blind_ns, perf_event_fn *attach,
		    void *arg)
{
	struct perf_event *event;
	int error = open_on(events, cpu, &event);

	if (!event)
		return error;
	if (events->is_clock && events->period) {
		event->blind += blind_ns / events->period;
		read_absence(events, event, true);
	}
	error = attach(arg, event->fd);
	return error ? error : enable(event);
}

int perf_events_follow(struct perf_events *events, const struct cpu_set *cpus, uint64_t blind_ns,
		       perf_event_fn *attach, void *arg)
{
	int error = 0;

	for (size_t i = 0; i < events->nr; i++)
		if (events->events[i].fd >= 0 && !cpu_set_has(cpus, events->events[i].cpu))
			end_on(&events->events[i]);
	for (size_t cpu = 0; cpu < cpus->nr && !error; cpu++)
		if (cpu_set_has(cpus, cpu) && !is_open(events, cpu))
			error = begin_on(events, cpu, blind_ns, attach, arg);
	return error;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t lost_on(const struct perf_events *events, const struct perf_event *e,
			const struct perf_runs *runs)
{
	uint64_t period = events->period, idle_runs = events->idle_counts ? 0 : runs->idle_runs;
	uint64_t unheard = 0, tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);

	if (e->was_offline || e->fd < 0)
		return 0;
	/* absent_ns is the difference of two readings, each up to a tick off */
	if (e->absent_ns)
		unheard = above((e->absent_ns + 2 * tick_ns) / period, idle_runs);
	return above(e->count / period, runs->runs + unheard);
}

uint64_t perf_events_lost(struct perf_events *events, const struct perf_runs *runs)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < events->nr && events->period; i++) {
		struct perf_event *e = &events->events[i];

		e->lost = lost_on(events, e, &runs[e->cpu]);
		lost += e->lost + e->blind;
	}
	return lost;
}

void perf_events_close(struct perf_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->events[i].fd >= 0)
			close(events->events[i].fd);
	free(events->events);
	*events = (struct perf_events){};
}
