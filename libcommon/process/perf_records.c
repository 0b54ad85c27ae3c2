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

#include "process/cpu_set.h"
#include "process/perf_events.h"

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
		.wakeup_watermark = RING_PAGES / 2 * records->page_size,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct ring ring = { .fd = perf_event_open_cpu(&attr, cpu) };
	struct epoll_event event = { .events = EPOLLIN };
	size_t bytes = (1 + RING_PAGES) * records->page_size;
	int error;

	if (ring.fd < 0)
		return ring.fd == -ENODEV ? 0 : ring.fd;
	ring.page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.page == MAP_FAILED || epoll_ctl(records->epoll_fd, EPOLL_CTL_ADD, ring.fd, &event)) {
		error = -errno;
		if (ring.page != MAP_FAILED)
			munmap(ring.page, bytes);
		close(ring.fd);
		return error;
	}
	madvise(ring.page, bytes, MADV_DONTFORK);	/* a child must not keep the event */
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

#define MAX_RECORD 65536	/* its size field has 16 bits */

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
	uint64_t time = header->size >= sizeof(*header) + 8 ? *(const uint64_t *)(record + header->size - 8) :
							      0;
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
		if (fork->pid == fork->parent)	/* a thread */
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

int perf_records_read(struct perf_records *records, int (*take)(void *arg, const struct process_event *event),
		      void *arg)
{
	int error = 0;

	for (size_t i = 0; i < records->nr && !error; i++)
		error = read_ring(records, &records->rings[i], take, arg);
	return error;
}
