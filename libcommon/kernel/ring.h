/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF ring buffer by its map's name, for callers that do not use libbpf. */
#ifndef EHPERF_KERNEL_RING_H
#define EHPERF_KERNEL_RING_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct ring;

/* take() gets each record, in memory that is mapped read-only. 0 or -errno */
int ring_open(struct ring **ring, const struct bpf_object *object, const char *map,
	      int (*take)(void *arg, void *record, size_t bytes), void *arg);
void ring_close(struct ring *ring);

/*
 * Hands out what is in the buffer. ms: for so long at most; 0: what was there at the call, and no
 * more than fits into it, however fast new records arrive. 0 or -errno, also that of take()
 */
int ring_drain(struct ring *ring, unsigned ms);
/* CLOCK_MONOTONIC: what was in the buffer then has been handed out. */
uint64_t ring_drained_ns(const struct ring *ring);

/* for poll() */
int ring_fd(const struct ring *ring);

#endif
