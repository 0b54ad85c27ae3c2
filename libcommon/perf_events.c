// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int perf_events_open_clock(struct perf_events *events, const struct cpu_set *cpus, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
	};
	struct perf_events opened = { .events = calloc(cpus->nr + 1, sizeof(struct perf_event)), .period_ns = period_ns };

	if (!opened.events)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < cpus->nr; cpu++) {
		int fd = cpu_set_has(cpus, cpu) ? open_event(&attr, cpu) : -ENODEV;

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

/* absent_ns becomes what the CPU has been absent since absent_ns */
static void read_absence(struct perf_events *events)
{
	FILE *stat = fopen("/proc/stat", "re");
	uint64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
	char line[512];

	while (stat && fgets(line, sizeof(line), stat)) {
		unsigned long long idle, iowait, steal;
		int cpu;

		if (sscanf(line, "cpu%d %*u %*u %*u %llu %llu %*u %*u %llu", &cpu, &idle, &iowait, &steal) != 4)
			continue;
		for (size_t i = 0; i < events->nr; i++)
			if (events->events[i].cpu == cpu)
				events->events[i].absent_ns = (idle + iowait + steal) * tick_ns - events->events[i].absent_ns;
	}
	if (stat)
		fclose(stat);
}

int perf_events_enable(struct perf_events *events)
{
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
	read_absence(events);
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t perf_events_lost(const struct perf_events *events, const struct perf_runs *runs)
{
	uint64_t lost = 0, count, unheard, tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);

	for (size_t i = 0; i < events->nr; i++) {
		const struct perf_event *e = &events->events[i];

		if (read(e->fd, &count, sizeof(count)) != sizeof(count))
			continue;
		/* two readings of /proc/stat, each up to a tick off */
		unheard = e->absent_ns ? above((e->absent_ns + 2 * tick_ns) / events->period_ns, runs[e->cpu].idle_runs) : 0;
		lost += above(count / events->period_ns, runs[e->cpu].runs + unheard);
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

/* ---- processes that come and go ---- */

#define RING_PAGES 64	/* per CPU, a power of two */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct perf_records {
	int epoll_fd;
	size_t nr, page_size;
	struct ring rings[];
};

static int open_ring(struct perf_records *records, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct ring ring = { .fd = open_event(&attr, cpu) };
	struct epoll_event event = { .events = EPOLLIN };
	int error;

	if (ring.fd < 0)
		return ring.fd == -ENODEV ? 0 : ring.fd;
	ring.page = mmap(NULL, (1 + RING_PAGES) * records->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.page == MAP_FAILED || epoll_ctl(records->epoll_fd, EPOLL_CTL_ADD, ring.fd, &event)) {
		error = -errno;
		close(ring.fd);
		return error;
	}
	records->rings[records->nr++] = ring;
	return 0;
}

int perf_records_open(struct perf_records **records)
{
	struct cpu_set online;
	struct perf_records *r;
	int error = cpu_set_online(&online);

	if (error)
		return error;
	r = calloc(1, sizeof(*r) + online.nr * sizeof(r->rings[0]));
	if (!r) {
		cpu_set_free(&online);
		return -ENOMEM;
	}
	r->page_size = sysconf(_SC_PAGESIZE);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	error = r->epoll_fd < 0 ? -errno : 0;
	for (size_t cpu = 0; cpu < online.nr && !error; cpu++)
		if (online.has[cpu])
			error = open_ring(r, cpu);
	cpu_set_free(&online);
	if (error)
		perf_records_close(r);
	else
		*records = r;
	return error;
}

void perf_records_close(struct perf_records *records)
{
	if (!records)
		return;
	for (size_t i = 0; i < records->nr; i++) {
		munmap(records->rings[i].page, (1 + RING_PAGES) * records->page_size);
		close(records->rings[i].fd);
	}
	if (records->epoll_fd >= 0)
		close(records->epoll_fd);
	free(records);
}

int perf_records_fd(const struct perf_records *records)
{
	return records->epoll_fd;
}

/* the first bytes of every record we ask for */
struct record_start {
	struct perf_event_header header;
	uint32_t pid, tid_or_ppid, tid;
};

static void tell(const struct record_start *record, void (*changed)(void *, enum process_change, pid_t), void *arg)
{
	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		changed(arg, PROCESS_MAPPED, record->pid);
		break;
	case PERF_RECORD_COMM:
		if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
			changed(arg, PROCESS_EXECED, record->pid);
		break;
	case PERF_RECORD_FORK:
		if (record->pid == record->tid)	/* else a thread */
			changed(arg, PROCESS_FORKED, record->pid);
		break;
	case PERF_RECORD_EXIT:
		changed(arg, PROCESS_EXITED, record->pid);
		break;
	case PERF_RECORD_LOST:
		changed(arg, PROCESS_UNKNOWN, 0);
		break;
	}
}

void perf_records_read(struct perf_records *records,
		       void (*changed)(void *arg, enum process_change change, pid_t pid), void *arg)
{
	size_t size = RING_PAGES * records->page_size;

	for (size_t i = 0; i < records->nr; i++) {
		struct perf_event_mmap_page *page = records->rings[i].page;
		const char *bytes = (const char *)page + records->page_size;
		uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

		while (tail < head) {
			struct record_start record = {};
			size_t n = head - tail < sizeof(record) ? head - tail : sizeof(record);

			for (size_t b = 0; b < n; b++)	/* it may wrap around */
				((char *)&record)[b] = bytes[(tail + b) % size];
			if (!record.header.size)
				break;
			tell(&record, changed, arg);
			tail += record.header.size;
		}
		__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
}
