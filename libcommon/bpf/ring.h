/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF ring buffer by its map's name, for callers that do not use libbpf. */
#ifndef EHPERF_BPF_RING_H
#define EHPERF_BPF_RING_H

#include <stddef.h>

struct bpf_object;
struct ring_buffer;

/* take() gets each record, in memory that is mapped read-only. 0 or -errno */
int ring_open(struct ring_buffer **ring, const struct bpf_object *object, const char *map,
	      int (*take)(void *arg, void *record, size_t bytes), void *arg);
void ring_close(struct ring_buffer *ring);

/* Hands out what is in the buffer. 0 or -errno, also take()'s */
int ring_drain(struct ring_buffer *ring);

#endif
