// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "process/clock.h"

struct ring {
	struct ring_buffer *buffer;
	int (*take)(void *arg, void *record, size_t bytes);
	void *arg;
	size_t size, taken;	/* bytes: of the buffer; since ring_drain() began */
	uint64_t end_ns;	/* when it ends at the latest; 0: it does not matter */
	bool enough, late;
};

static int take_one(void *arg, void *record, size_t bytes)
{
	struct ring *ring = arg;
	int error = ring->take(ring->arg, record, bytes);

	ring->taken += bytes;
	ring->late = ring->end_ns && clock_ns() > ring->end_ns;
	ring->enough = !error && (ring->late || ring->taken >= ring->size);
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
	*r = (struct ring){ .take = take, .arg = arg, .size = bpf_map__max_entries(map) };
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
	int taken;

	ring->taken = 0;
	ring->end_ns = ms ? clock_ns() + ms * 1000000ULL : 0;
	ring->enough = ring->late = false;
	taken = ring_buffer__consume(ring->buffer);
	return taken < 0 && !ring->enough ? taken : ring->late;
}

int ring_fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}
