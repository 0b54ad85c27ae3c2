// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>

int ring_open(struct ring_buffer **ring, const struct bpf_object *object, const char *map,
	      int (*take)(void *arg, void *record, size_t bytes), void *arg)
{
	int fd = bpf_object__find_map_fd_by_name(object, map);

	*ring = fd < 0 ? NULL : ring_buffer__new(fd, take, arg, NULL);
	if (fd < 0)
		return fd;
	return *ring ? 0 : -errno;
}

void ring_close(struct ring_buffer *ring)
{
	ring_buffer__free(ring);
}

int ring_drain(struct ring_buffer *ring)
{
	int taken = ring_buffer__consume(ring);

	return taken < 0 ? taken : 0;
}
