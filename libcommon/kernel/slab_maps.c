// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/slab_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/priority.h"
#include "slabs_abi.h"

/*
 * Spare slabs: one is enough, unless slabs fill faster than they can be inserted. Each wait doubles
 * their number.
 */
#define MAX_SPARES 8

struct bpf_slab {
	struct bpf_slabs *all;
	uint32_t number;
	int fd;
	uint8_t *bytes;
	pthread_t inserter;
	bool has_inserter;
	bool inserted; /* under all->lock, as is error */
	int error;
};

struct bpf_slabs {
	int outer_fd;
	uint32_t nr, handed_out, settled, max;
	uint32_t spares; /* slabs kept ahead of need */
	struct bpf_slabs_counts counts;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bpf_slab slabs[NR_SLABS];
};

static void *insert(void *arg)
{
	struct bpf_slab *slab = arg;
	int error = bpf_map_update_elem(slab->all->outer_fd, &slab->number, &slab->fd, BPF_ANY)
			    ? -errno
			    : 0;

	pthread_mutex_lock(&slab->all->lock);
	slab->inserted = true;
	slab->error = error;
	pthread_cond_broadcast(&slab->all->changed);
	pthread_mutex_unlock(&slab->all->lock);
	return NULL;
}

static int create(struct bpf_slabs *all)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct bpf_slab *slab = &all->slabs[all->nr];
	int error;

	*slab = (struct bpf_slab){ .all = all, .number = all->nr };
	slab->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ehperf_slab", sizeof(__u32), SLAB_VALUE_SIZE,
				  1, &options);
	if (slab->fd < 0)
		return slab->fd;
	slab->bytes = mmap(NULL, SLAB_VALUE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, slab->fd, 0);
	if (slab->bytes == MAP_FAILED) {
		error = -errno;
		close(slab->fd);
		return error;
	}
	madvise(slab->bytes, SLAB_VALUE_SIZE, MADV_DONTFORK); /* a child must not keep the map */
	slab->has_inserter = !priority_start_thread(&slab->inserter, insert, slab);
	/* no thread can be created: this one inserts the slab, and waits */
	if (!slab->has_inserter)
		insert(slab);
	all->nr++;
	return 0;
}

/* Numbers are consecutive. */
static int add(void *arg, uint32_t number, uint8_t **bytes)
{
	struct bpf_slabs *all = arg;
	int error = 0;

	if (number == all->nr)
		error = create(all);
	if (error)
		return error;
	all->handed_out = number + 1;
	*bytes = all->slabs[number].bytes;
	/* the spare ones; a failure is no error yet: they are tried again when they are needed */
	while (all->nr < all->max && all->nr < number + 1 + all->spares && !create(all))
		;
	return 0;
}

int bpf_slabs_settle(struct bpf_slabs *all)
{
	double began = 0;
	int error = 0;

	pthread_mutex_lock(&all->lock);
	for (; all->settled < all->handed_out && !error; all->settled++) {
		struct bpf_slab *slab = &all->slabs[all->settled];

		if (!slab->inserted && !began)
			began = clock_seconds();
		while (!slab->inserted)
			pthread_cond_wait(&all->changed, &all->lock);
		error = slab->error;
	}
	if (began) {
		all->counts.waits++;
		all->spares = all->spares * 2 < MAX_SPARES ? all->spares * 2 : MAX_SPARES;
		all->counts.waited_s += clock_seconds() - began;
	}
	pthread_mutex_unlock(&all->lock);
	return error;
}

int bpf_slabs_new(struct bpf_slabs **source, int outer_fd, uint64_t max_bytes)
{
	struct bpf_slabs *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->outer_fd = outer_fd;
	all->spares = 1;
	all->max = max_bytes / SLAB_VALUE_SIZE < NR_SLABS ? max_bytes / SLAB_VALUE_SIZE : NR_SLABS;
	if (!all->max)
		all->max = 1;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->changed, NULL);
	*source = all;
	return 0;
}

void bpf_slabs_free(struct bpf_slabs *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->nr; i++) {
		if (all->slabs[i].has_inserter)
			pthread_join(all->slabs[i].inserter, NULL);
		munmap(all->slabs[i].bytes, SLAB_VALUE_SIZE);
		close(all->slabs[i].fd);
	}
	pthread_cond_destroy(&all->changed);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

struct slab_source bpf_slabs_source(struct bpf_slabs *all)
{
	return (struct slab_source){ .add = add, .arg = all, .max = all->max };
}

struct bpf_slabs_counts bpf_slabs_counts(const struct bpf_slabs *all)
{
	struct bpf_slabs_counts counts = all->counts;

	counts.slabs = all->nr;
	return counts;
}
