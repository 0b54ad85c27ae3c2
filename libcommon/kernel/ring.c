// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"

struct ring {
	struct ring_buffer *buffer;
	int (*take)(void *arg, void *record, size_t bytes);
	void *arg;
	size_t size; /* bytes */
	/*
	 * what was there at a time has been taken once the buffer was empty, or this many bytes
	 * were taken since then
	 */
	uint64_t since_ns, drained_ns;
	size_t taken;    /* bytes since since_ns */
	uint64_t end_ns; /* when ring_drain() ends at the latest; 0: it does not matter */
	bool enough;
};

static void count_from_now(struct ring *ring)
{
	ring->since_ns = clock_ns();
	ring->taken = 0;
}

static int take_one(void *arg, void *record, size_t bytes)
{
	struct ring *ring = arg;
	int error = ring->take(ring->arg, record, bytes);
	bool all;

	ring->taken += bytes;
	all = ring->taken >= ring->size;
	if (all) {
		ring->drained_ns = ring->since_ns;
		count_from_now(ring);
	}
	ring->enough = !error && (ring->end_ns ? clock_ns() > ring->end_ns : all);
	return ring->enough ? -EAGAIN : error;
}

int ring_open(struct ring **ring, const struct bpf_object *object, const char *name,
	      int (*take)(void *arg, void *record, size_t bytes), void *arg)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	struct ring *r = map ? calloc(1, sizeof(*r)) : NULL;
	int error;

	if (!r)
		return map ? -ENOMEM : -ENOENT;
	*r = (struct ring){ .take = take,
			    .arg = arg,
			    .size = bpf_map__max_entries(map),
			    .drained_ns = clock_ns() };
	r->buffer = ring_buffer__new(bpf_map__fd(map), take_one, r, NULL);
	if (!r->buffer) {
		error = -errno;
		free(r);
		return error;
	}
	*ring = r;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	free(ring);
}

int ring_drain(struct ring *ring, unsigned ms)
{
	uint64_t now = clock_ns();
	int taken;

	if (!ms || ring->drained_ns >= ring->since_ns)
		count_from_now(ring);
	ring->end_ns = ms ? now + ms * 1000000ULL : 0;
	ring->enough = false;
	taken = ring_buffer__consume(ring->buffer);
	if (!ring->enough && taken >= 0)
		ring->drained_ns = now;
	return taken < 0 && !ring->enough ? taken : 0;
}

uint64_t ring_drained_ns(const struct ring *ring)
{
	return ring->drained_ns;
}

int ring_fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}
