/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slabs that BPF programs read: array maps written through mmap(), inner maps of one ARRAY_OF_MAPS.
 *
 * Inserting one there waits for an RCU grace period on most kernels (the update does, not the visibility).
 * Writing a slab does not need it inserted, so each is inserted by a thread of its own, the next one
 * ahead of need; concurrent waits share grace periods. Who publishes what lies in slabs settles first.
 */
#ifndef EHPERF_BPF_SLAB_MAPS_H
#define EHPERF_BPF_SLAB_MAPS_H

#include "table/slabs.h"

struct bpf_slabs;

/* for the ARRAY_OF_MAPS of this fd, which must stay open. 0 or -errno */
int bpf_slabs_new(struct bpf_slabs **source, int outer_fd);
/* after slabs_free() */
void bpf_slabs_free(struct bpf_slabs *source);

struct slab_source bpf_slabs_source(struct bpf_slabs *source);

/* Returns when every slab handed out is in the outer map: at once unless one is on its way. 0 or -errno */
int bpf_slabs_settle(struct bpf_slabs *source);

struct bpf_slabs_counts {
	size_t slabs;		/* with the spare one */
	size_t waits;		/* how often settling had to wait */
	double waited_s;	/* in all */
};
struct bpf_slabs_counts bpf_slabs_counts(const struct bpf_slabs *source);

#endif
