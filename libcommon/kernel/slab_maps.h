/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slabs that BPF programs read: array maps written through mmap(), inner maps of one ARRAY_OF_MAPS.
 *
 * On most kernels, inserting a slab into the outer map waits for an RCU grace period (the slab is
 * visible before, but the system call waits). A slab can be written before it is inserted. So each
 * slab is inserted by its own thread, and the next one before it is needed; concurrent inserts
 * share grace periods. Before publishing the location of anything in slabs, call
 * bpf_slabs_settle().
 */
#ifndef EHPERF_KERNEL_SLAB_MAPS_H
#define EHPERF_KERNEL_SLAB_MAPS_H

#include "table/slabs.h"

struct bpf_slabs;

/*
 * for the ARRAY_OF_MAPS of this fd, which must stay open; slabs have at most this many bytes in
 * all, but there is at least one. 0 or -errno
 */
int bpf_slabs_new(struct bpf_slabs **source, int outer_fd, uint64_t max_bytes);
/* after slabs_free() */
void bpf_slabs_free(struct bpf_slabs *source);

struct slab_source bpf_slabs_source(struct bpf_slabs *source);

/* Waits until every slab handed out is inserted: usually they all are. 0 or -errno */
int bpf_slabs_settle(struct bpf_slabs *source);

struct bpf_slabs_counts {
	size_t slabs;    /* including spare ones */
	size_t waits;    /* how often settling had to wait */
	double waited_s; /* in all */
};
struct bpf_slabs_counts bpf_slabs_counts(const struct bpf_slabs *source);

#endif
