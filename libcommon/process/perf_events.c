// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_event_open_cpu(struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_all(struct perf_events *events, const struct cpu_set *cpus, struct perf_event_attr *attr, bool is_clock)
{
	struct perf_events opened = {
		.events = calloc(cpus->nr + 1, sizeof(struct perf_event)),
		.period = attr->freq ? 0 : attr->sample_period,
		.is_clock = is_clock,
	};

	if (!opened.events)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < cpus->nr; cpu++) {
		int fd = cpu_set_has(cpus, cpu) ? perf_event_open_cpu(attr, cpu) : -ENODEV;

		if (fd == -ENODEV)
			continue;
		if (fd < 0) {
			perf_events_close(&opened);
			return fd;
		}
		opened.events[opened.nr++] = (struct perf_event){ .fd = fd, .cpu = cpu };
	}
	if (!opened.nr) {
		perf_events_close(&opened);
		return -ENODEV;
	}
	*events = opened;
	return 0;
}

int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus, uint64_t period_ns)
{
	static const struct perf_encoding clock = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK };

	return perf_events_open(events, cpus, &clock, period_ns, 0);
}

int perf_events_open(struct perf_events *events, const struct cpu_set *cpus, const struct perf_encoding *event,
		     uint64_t period, uint64_t frequency)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.freq = !period,
		.disabled = 1,
	};

	if (period)
		attr.sample_period = period;
	else
		attr.sample_freq = frequency;
	return open_all(events, cpus, &attr, perf_encoding_is_clock(event));
}

/* Sets each absent_ns to the CPU's idle and stolen time since boot, less the previous absent_ns. */
static void read_absence(struct perf_events *events)
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
			if (events->events[i].cpu == cpu)
				events->events[i].absent_ns = (idle + iowait + steal) * tick_ns -
							      events->events[i].absent_ns;
	}
	if (stat)
		fclose(stat);
}

int perf_events_enable(struct perf_events *events)
{
	if (events->is_clock)
		read_absence(events);
	for (size_t i = 0; i < events->nr; i++)
		if (ioctl(events->events[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void perf_events_disable(struct perf_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		ioctl(events->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	if (events->is_clock)
		read_absence(events);
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t perf_events_lost(const struct perf_events *events, const struct perf_runs *runs)
{
	uint64_t lost = 0, count, unheard, tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);

	for (size_t i = 0; i < events->nr && events->period; i++) {
		const struct perf_event *e = &events->events[i];

		if (read(e->fd, &count, sizeof(count)) != sizeof(count))
			continue;
		/* absent_ns is the difference of two readings, each up to a tick off */
		unheard = 0;
		if (e->absent_ns)
			unheard = above((e->absent_ns + 2 * tick_ns) / events->period,
					runs[e->cpu].idle_runs);
		lost += above(count / events->period, runs[e->cpu].runs + unheard);
	}
	return lost;
}

void perf_events_close(struct perf_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		close(events->events[i].fd);
	free(events->events);
	*events = (struct perf_events){};
}
