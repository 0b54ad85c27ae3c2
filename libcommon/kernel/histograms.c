// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/histograms.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/order.h"
#include "histograms_abi.h"
#include "stacks_abi.h"
#include "kernel/object.h"

struct bpf_histograms {
	const struct histogram_unit *unit;
	int series_fd, buckets_fd, control_fd, grace_fd, any_fd;
	/*
	 * in the kernel: NR_SLOTS and NR_BUCKET_COUNTS for each copy. What is of the turn that is
	 * over is ours
	 */
	struct series_stats *stats;
	uint64_t *bucket_counts;
	size_t key_size;
	uint32_t nr_copies;
	uint64_t turn;
	struct series *series; /* of the last interval */
	size_t nr;
	char *keys; /* theirs */
	struct series *by_number[MAX_SERIES + 1];
};

/* 0 or -errno */
static int count_copies(uint32_t *nr)
{
	int nr_cpus = libbpf_num_possible_cpus();

	for (*nr = 1; (int)*nr < nr_cpus && *nr < MAX_COPIES; *nr *= 2)
		;
	return nr_cpus < 0 ? nr_cpus : 0;
}

int bpf_histograms_configure(struct bpf_object *object, const struct histogram_unit *unit)
{
	uint32_t nr, mask;
	int error = count_copies(&nr);

	mask = nr - 1;
	if (!error)
		error = object_set(object, "unit_ns", &unit->ns, sizeof(unit->ns));
	if (!error)
		error = object_set(object, "unit_shift", &unit->shift, sizeof(unit->shift));
	if (!error)
		error = object_set(object, "copy_mask", &mask, sizeof(mask));
	if (!error)
		error = object_resize(object, "series_stats", nr * NR_SLOTS);
	return error ? error : object_resize(object, "bucket_counts", nr * NR_BUCKET_COUNTS);
}

/* ---- a run's ---- */

static size_t stats_bytes(const struct bpf_histograms *h)
{
	return (size_t)h->nr_copies * NR_SLOTS * sizeof(*h->stats);
}

static size_t counts_bytes(const struct bpf_histograms *h)
{
	return (size_t)h->nr_copies * NR_BUCKET_COUNTS * sizeof(*h->bucket_counts);
}

/* Maps the values of a map of the kernel's. 0 or -errno */
static int map_values(const struct bpf_object *object, const char *name, size_t bytes,
		      void **values)
{
	int fd = bpf_object__find_map_fd_by_name(object, name);
	void *at =
		fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return fd < 0 ? fd : -errno;
	*values = at;
	return 0;
}

static int find_maps(struct bpf_histograms *h, const struct bpf_object *object)
{
	const struct bpf_map *series = bpf_object__find_map_by_name(object, "series");
	int error;

	h->series_fd = bpf_object__find_map_fd_by_name(object, "series");
	h->buckets_fd = bpf_object__find_map_fd_by_name(object, "buckets");
	h->control_fd = bpf_object__find_map_fd_by_name(object, "histograms");
	h->grace_fd = bpf_object__find_map_fd_by_name(object, "grace");
	if (!series || h->buckets_fd < 0 || h->control_fd < 0 || h->grace_fd < 0)
		return -ENOENT;
	h->key_size = bpf_map__key_size(series);
	error = map_values(object, "series_stats", stats_bytes(h), (void **)&h->stats);
	return error ? error
		     : map_values(object, "bucket_counts", counts_bytes(h),
				  (void **)&h->bucket_counts);
}

int bpf_histograms_new(struct bpf_histograms **histograms, struct bpf_object *object,
		       const struct histogram_unit *unit)
{
	struct bpf_histograms *h = calloc(1, sizeof(*h));
	int error;

	if (!h)
		return -ENOMEM;
	h->unit = unit;
	error = count_copies(&h->nr_copies);
	h->any_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_of", sizeof(__u32), sizeof(__u32), 1,
				   NULL);
	if (!error && h->any_fd < 0)
		error = h->any_fd;
	if (!error)
		error = find_maps(h, object);
	if (error)
		bpf_histograms_free(h);
	else
		*histograms = h;
	return error;
}

static void free_series(struct bpf_histograms *h)
{
	for (size_t i = 0; i < h->nr; i++)
		free(h->series[i].by_errno);
	free(h->series);
	free(h->keys);
	h->series = NULL;
	h->keys = NULL;
	h->nr = 0;
}

void bpf_histograms_free(struct bpf_histograms *h)
{
	if (!h)
		return;
	free_series(h);
	if (h->stats)
		munmap(h->stats, stats_bytes(h));
	if (h->bucket_counts)
		munmap(h->bucket_counts, counts_bytes(h));
	if (h->any_fd >= 0)
		close(h->any_fd);
	free(h);
}

/*
 * Waits until all programs that may still use the old turn have ended: replacing a map in a map
 * waits for just that.
 */
static int wait_for_programs(const struct bpf_histograms *h)
{
	__u32 zero = 0;

	return bpf_map_update_elem(h->grace_fd, &zero, &h->any_fd, BPF_ANY) ? -errno : 0;
}

static int next_turn(struct bpf_histograms *h)
{
	__u32 which = HISTOGRAMS_TURN;
	__u64 next = h->turn + 1;

	if (bpf_map_update_elem(h->control_fd, &which, &next, BPF_ANY))
		return -errno;
	h->turn = next;
	return wait_for_programs(h);
}

/* Sums the copies of the statistics, and sets them to 0. */
static void take_stats(const struct bpf_histograms *h, struct series *s)
{
	for (uint32_t copy = 0; copy < h->nr_copies; copy++) {
		struct series_stats *c = &h->stats[copy * NR_SLOTS + s->slot];

		if (!c->count)
			continue;
		if (!s->histogram.count || ~c->above_min_ns < s->histogram.min_ns)
			s->histogram.min_ns = ~c->above_min_ns;
		if (c->max_ns > s->histogram.max_ns)
			s->histogram.max_ns = c->max_ns;
		s->histogram.count += c->count;
		s->histogram.total_ns += c->total_ns;
		s->errors += c->errors;
		s->blocked_ns += c->blocked_ns;
		s->waiting_ns += c->waiting_ns;
		s->no_bucket += c->no_bucket;
		memset(c, 0, sizeof(*c));
	}
}

/* Adds a series to those of the interval, if it has values. */
static void take_series(struct bpf_histograms *h, uint32_t number, const void *key)
{
	struct series *s = &h->series[h->nr];

	*s = (struct series){ .number = number, .slot = SLOT(number, h->turn - 1), .key = key };
	histogram_init(&s->histogram, h->unit);
	take_stats(h, s);
	h->nr += !!s->histogram.count;
}

static int take_all_stats(struct bpf_histograms *h)
{
	char *last = NULL, *key = h->keys;

	while (!bpf_map_get_next_key(h->series_fd, last, key)) {
		__u32 number;

		if (bpf_map_lookup_elem(h->series_fd, key, &number))
			return -errno;
		take_series(h, number, key);
		last = key;
		key += h->key_size;
	}
	if (errno != ENOENT)
		return -errno;
	take_series(h, REST_SERIES, NULL);
	return 0;
}

static int add_bucket(struct bpf_histograms *h, const struct bucket_key *key, uint64_t count)
{
	struct series *s = key->slot / 2 <= REST_SERIES ? h->by_number[key->slot / 2] : NULL;
	struct errno_count *more;

	if (!s)
		return 0;
	if (key->bucket < NR_BUCKETS) {
		s->histogram.buckets[key->bucket] += count;
		return 0;
	}
	more = reallocarray(s->by_errno, s->nr_errnos + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->by_errno = more;
	more[s->nr_errnos++] =
		(struct errno_count){ .number = key->bucket - BUCKET_ERROR, .count = count };
	return 0;
}

/*
 * The keys of the turn that is over. Programs may add keys of the current turn meanwhile, but
 * nothing deletes any.
 */
static int list_buckets(struct bpf_histograms *h, struct bucket_key **keys, size_t *nr)
{
	struct bucket_key key, next, *last = NULL;
	size_t room = 0;

	*keys = NULL;
	*nr = 0;
	while (!bpf_map_get_next_key(h->buckets_fd, last, &next)) {
		if (SLOT(next.slot / 2, h->turn - 1) == next.slot) {
			if (array_reserve(keys, &room, *nr + 1))
				return -ENOMEM;
			(*keys)[(*nr)++] = next;
		}
		key = next;
		last = &key;
	}
	return errno == ENOENT ? 0 : -errno; /* that was the last one */
}

/* Sums the copies of the count of a bucket, and sets them to 0. */
static uint64_t take_count(const struct bpf_histograms *h, uint32_t number)
{
	uint64_t count = 0;

	for (uint32_t copy = 0; copy < h->nr_copies; copy++) {
		uint64_t *one = &h->bucket_counts[(size_t)copy * NR_BUCKET_COUNTS + number];

		count += *one;
		*one = 0;
	}
	return count;
}

static int take_buckets(struct bpf_histograms *h)
{
	__u32 number, which = HISTOGRAMS_BUCKETS + ((h->turn - 1) & 1);
	struct bucket_key *keys = NULL;
	__u64 none = 0;
	size_t nr = 0;
	int error = list_buckets(h, &keys, &nr);

	for (size_t i = 0; i < nr && !error; i++) {
		if (bpf_map_lookup_elem(h->buckets_fd, &keys[i], &number) ||
		    bpf_map_delete_elem(h->buckets_fd, &keys[i]))
			error = -errno;
		else
			error = add_bucket(h, &keys[i], take_count(h, number));
	}
	free(keys);
	/* the turn's numbers can be given out again */
	if (!error && bpf_map_update_elem(h->control_fd, &which, &none, BPF_ANY))
		error = -errno;
	return error;
}

uint32_t bpf_histograms_stack_flags(const struct bpf_histograms *h)
{
	return STACK_SLOT(SLOT(0, h->turn - 1));
}

static int most_time_first(const void *left, const void *right)
{
	const struct series *l = left, *r = right;

	return order_of(r->histogram.total_ns, l->histogram.total_ns)
		       ?: order_of(l->number, r->number);
}

static int most_errors_first(const void *left, const void *right)
{
	const struct errno_count *l = left, *r = right;

	return order_of(r->count, l->count) ?: order_of(l->number, r->number);
}

int bpf_histograms_take(struct bpf_histograms *h, struct series **series, size_t *nr)
{
	int error = next_turn(h);

	if (error)
		return error;
	free_series(h);
	h->series = calloc(MAX_SERIES + 1, sizeof(*h->series));
	h->keys = calloc(MAX_SERIES + 1, h->key_size);
	if (!h->series || !h->keys)
		return -ENOMEM;
	error = take_all_stats(h);
	if (error)
		return error;
	memset(h->by_number, 0, sizeof(h->by_number));
	for (size_t i = 0; i < h->nr; i++)
		h->by_number[h->series[i].number] = &h->series[i];
	error = take_buckets(h);
	if (error)
		return error;
	for (size_t i = 0; i < h->nr; i++)
		if (h->series[i].nr_errnos)
			qsort(h->series[i].by_errno, h->series[i].nr_errnos,
			      sizeof(struct errno_count), most_errors_first);
	if (h->nr)
		qsort(h->series, h->nr, sizeof(*h->series), most_time_first);
	*series = h->series;
	*nr = h->nr;
	return 0;
}
