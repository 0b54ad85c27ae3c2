// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/perf_records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "process/cpu_set.h"
#include "process/perf_events.h"

#define RING_PAGES 64 /* per CPU, a power of two */

struct ring {
	int fd; /* -1: the CPU is offline */
	struct perf_event_mmap_page *page;
};

struct perf_records {
	int epoll_fd;
	size_t page_size;
	struct cpu_watch watch;
	struct ring *rings; /* by CPU */
	size_t nr, room;
};

static size_t ring_bytes(const struct perf_records *records)
{
	return (1 + RING_PAGES) * records->page_size;
}

static int open_ring(const struct perf_records *records, struct ring *ring, int cpu)
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
		.wakeup_watermark = RING_PAGES / 2 * records->page_size,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct ring opened = { .fd = perf_event_open_cpu(&attr, cpu) };
	struct epoll_event event = { .events = EPOLLIN };
	int error;

	if (opened.fd < 0)
		return opened.fd == -ENODEV ? 0 : opened.fd;
	opened.page =
		mmap(NULL, ring_bytes(records), PROT_READ | PROT_WRITE, MAP_SHARED, opened.fd, 0);
	if (opened.page == MAP_FAILED ||
	    epoll_ctl(records->epoll_fd, EPOLL_CTL_ADD, opened.fd, &event)) {
		error = -errno;
		if (opened.page != MAP_FAILED)
			munmap(opened.page, ring_bytes(records));
		close(opened.fd);
		return error;
	}
	/* a child must not keep the event */
	madvise(opened.page, ring_bytes(records), MADV_DONTFORK);
	*ring = opened;
	return 0;
}

static void close_ring(const struct perf_records *records, struct ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->page, ring_bytes(records));
	close(ring->fd);
	ring->fd = -1;
}

/*
 * Opens what is missing of these CPUs, and closes what belongs to others: no event comes back with
 * its CPU.
 */
static int follow_cpus(struct perf_records *records, const struct cpu_set *online)
{
	int error = 0;

	if (array_reserve(&records->rings, &records->room, online->nr))
		return -ENOMEM;
	while (records->nr < online->nr)
		records->rings[records->nr++].fd = -1;
	for (size_t cpu = 0; cpu < records->nr && !error; cpu++) {
		if (!cpu_set_has(online, cpu))
			close_ring(records, &records->rings[cpu]);
		else if (records->rings[cpu].fd < 0)
			error = open_ring(records, &records->rings[cpu], cpu);
	}
	return error;
}

int perf_records_open(struct perf_records **records)
{
	struct perf_records *r = calloc(1, sizeof(*r));
	struct cpu_set online = {};
	int error;

	if (!r)
		return -ENOMEM;
	r->page_size = sysconf(_SC_PAGESIZE);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	error = r->epoll_fd < 0 ? -errno : 0;
	r->watch.fd = -1;
	if (!error)
		error = cpu_watch_open(&r->watch);
	if (!error)
		error = cpu_set_online(&online);
	if (!error)
		error = follow_cpus(r, &online);
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
	for (size_t cpu = 0; cpu < records->nr; cpu++)
		close_ring(records, &records->rings[cpu]);
	free(records->rings);
	cpu_watch_close(&records->watch);
	if (records->epoll_fd >= 0)
		close(records->epoll_fd);
	free(records);
}

int perf_records_fd(const struct perf_records *records)
{
	return records->epoll_fd;
}

#define MAX_RECORD 65536 /* its size field has 16 bits */

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, bytes, file_offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char path[];
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

static int take_record(const struct perf_event_header *header,
		       int (*take)(void *, const struct process_event *), void *arg)
{
	const void *record = header;
	const struct mmap2_record *map = record;
	const struct fork_record *fork = record;
	const struct comm_record *comm = record;
	/* PERF_SAMPLE_TIME, with sample_id_all, is the last field of the record */
	uint64_t time = header->size >= sizeof(*header) + 8
				? *(const uint64_t *)(record + header->size - 8)
				: 0;
	struct process_event event = { .time_ns = time };

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		event.kind = PROCESS_MAPPED;
		event.pid = map->pid;
		event.mapping = (struct proc_mapping){
			.start = map->address,
			.end = map->address + map->bytes,
			.file_offset = map->file_offset,
			.dev = makedev(map->major, map->minor),
			.inode = map->inode,
			.path = (char *)map->path,
		};
		if (!strcmp(map->path, "//anon"))
			event.mapping.path = "";
		break;
	case PERF_RECORD_FORK:
		if (fork->pid == fork->parent) /* a thread */
			return 0;
		event.kind = PROCESS_FORKED;
		event.pid = fork->pid;
		event.parent = fork->parent;
		break;
	case PERF_RECORD_COMM:
		if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		event.kind = PROCESS_EXECED;
		event.pid = comm->pid;
		break;
	case PERF_RECORD_LOST:
		event.kind = PROCESS_EVENTS_LOST;
		break;
	default:
		return 0;
	}
	/* a process outside our PID namespace has no PID here */
	if (event.kind != PROCESS_EVENTS_LOST && (int32_t)event.pid <= 0)
		return 0;
	return take(arg, &event);
}

static int read_ring(const struct perf_records *records, struct ring *ring,
		     int (*take)(void *, const struct process_event *), void *arg)
{
	size_t size = RING_PAGES * records->page_size;
	const char *bytes = (const char *)ring->page + records->page_size;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE),
		 tail = ring->page->data_tail;
	int error = 0;

	while (tail < head && !error) {
		static union {
			struct perf_event_header header;
			char bytes[MAX_RECORD];
		} copy;
		/* records are aligned to 8 bytes: the header itself does not wrap around */
		const struct perf_event_header *header = (const void *)(bytes + tail % size);
		size_t whole = header->size, first = size - tail % size;

		if (!whole)
			break;
		if (whole > first) {
			memcpy(copy.bytes, header, first);
			memcpy(copy.bytes + first, bytes, whole - first);
			header = &copy.header;
		}
		error = take_record(header, take, arg);
		tail += whole;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return error;
}

/* What happened on a CPU that came until it was noticed is not known. */
static int follow_changed_cpus(struct perf_records *records,
			       int (*take)(void *arg, const struct process_event *event), void *arg)
{
	struct process_event lost = { .kind = PROCESS_EVENTS_LOST };
	struct cpu_set online;
	int changed = cpu_watch_changed(&records->watch, &online), error;

	if (changed <= 0)
		return changed;
	error = follow_cpus(records, &online);
	cpu_set_free(&online);
	lost.time_ns = clock_ns();
	return error ? error : take(arg, &lost);
}

int perf_records_read(struct perf_records *records,
		      int (*take)(void *arg, const struct process_event *event), void *arg)
{
	int error = 0;

	for (size_t cpu = 0; cpu < records->nr && !error; cpu++)
		if (records->rings[cpu].fd >= 0)
			error = read_ring(records, &records->rings[cpu], take, arg);
	return error ? error : follow_changed_cpus(records, take, arg);
}
