// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/histograms.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "histograms_abi.h"
#include "stacks_abi.h"
#include "bpf/object.h"

struct bpf_histograms {
	const struct histogram_unit *unit;
	int series_fd, stats_fd, buckets_fd, control_fd, grace_fd, any_fd;
	size_t key_size;
	int nr_cpus;
	uint64_t turn;
	struct series *series;	/* of the last interval */
	size_t nr;
	char *keys;			/* theirs */
	struct series *by_number[MAX_SERIES + 1];
};

int bpf_histograms_configure(struct bpf_object *object, const struct histogram_unit *unit)
{
	int error = object_set(object, "unit_ns", &unit->ns, sizeof(unit->ns));

	return error ? error : object_set(object, "unit_shift", &unit->shift, sizeof(unit->shift));
}

int bpf_histograms_new(struct bpf_histograms **histograms, struct bpf_object *object,
		       const struct histogram_unit *unit)
{
	struct bpf_histograms *h = calloc(1, sizeof(*h));
	const struct bpf_map *series = bpf_object__find_map_by_name(object, "series");

	if (!h)
		return -ENOMEM;
	h->unit = unit;
	h->nr_cpus = libbpf_num_possible_cpus();
	h->series_fd = bpf_object__find_map_fd_by_name(object, "series");
	h->stats_fd = bpf_object__find_map_fd_by_name(object, "series_stats");
	h->buckets_fd = bpf_object__find_map_fd_by_name(object, "buckets");
	h->control_fd = bpf_object__find_map_fd_by_name(object, "histograms");
	h->grace_fd = bpf_object__find_map_fd_by_name(object, "grace");
	h->any_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_of", sizeof(__u32), sizeof(__u32), 1, NULL);
	if (!series || h->nr_cpus < 0 || h->stats_fd < 0 || h->buckets_fd < 0 || h->control_fd < 0 ||
	    h->grace_fd < 0 || h->any_fd < 0) {
		int error = h->any_fd < 0 ? h->any_fd : h->nr_cpus < 0 ? h->nr_cpus : -ENOENT;

		bpf_histograms_free(h);
		return error;
	}
	h->key_size = bpf_map__key_size(series);
	*histograms = h;
	return 0;
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
	if (h->any_fd >= 0)
		close(h->any_fd);
	free(h);
}

/*
 * Waits until all programs that may still use the old turn have ended: replacing a map in a map waits for
 * just that.
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

/* sums the CPUs' statistics and sets them to 0 */
static int take_stats(struct bpf_histograms *h, struct series *s, uint32_t slot, struct series_stats *cpus)
{
	if (bpf_map_lookup_elem(h->stats_fd, &slot, cpus))
		return -errno;
	for (int cpu = 0; cpu < h->nr_cpus; cpu++) {
		const struct series_stats *c = &cpus[cpu];

		if (c->count && (!s->histogram.count || c->min_ns < s->histogram.min_ns))
			s->histogram.min_ns = c->min_ns;
		if (c->max_ns > s->histogram.max_ns)
			s->histogram.max_ns = c->max_ns;
		s->histogram.count += c->count;
		s->histogram.total_ns += c->total_ns;
		s->errors += c->errors;
		s->blocked_ns += c->blocked_ns;
		s->waiting_ns += c->waiting_ns;
		s->no_bucket += c->no_bucket;
	}
	if (!s->histogram.count)
		return 0;
	memset(cpus, 0, h->nr_cpus * sizeof(*cpus));
	return bpf_map_update_elem(h->stats_fd, &slot, cpus, BPF_ANY) ? -errno : 0;
}

/* Adds a series to those of the interval, if it has values. */
static int take_series(struct bpf_histograms *h, uint32_t number, const void *key, struct series_stats *cpus)
{
	struct series *s = &h->series[h->nr];
	int error;

	*s = (struct series){ .number = number, .slot = SLOT(number, h->turn - 1), .key = key };
	histogram_init(&s->histogram, h->unit);
	error = take_stats(h, s, s->slot, cpus);
	h->nr += !error && s->histogram.count;
	return error;
}

static int take_all_stats(struct bpf_histograms *h)
{
	struct series_stats *cpus = calloc(h->nr_cpus, sizeof(*cpus));
	char *last = NULL, *key = h->keys;
	int error = cpus ? 0 : -ENOMEM;

	while (!error && !bpf_map_get_next_key(h->series_fd, last, key)) {
		__u32 number;

		error = bpf_map_lookup_elem(h->series_fd, key, &number) ? -errno : take_series(h, number, key, cpus);
		last = key;
		key += h->key_size;
	}
	if (!error && errno != ENOENT)
		error = -errno;
	if (!error)
		error = take_series(h, REST_SERIES, NULL, cpus);
	free(cpus);
	return error;
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
	more[s->nr_errnos++] = (struct errno_count){ .number = key->bucket - BUCKET_ERROR, .count = count };
	return 0;
}

/*
 * The keys of the turn that is over. Programs may add keys of the current turn meanwhile, but nothing deletes
 * any.
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
	return errno == ENOENT ? 0 : -errno;	/* that was the last one */
}

static int take_buckets(struct bpf_histograms *h)
{
	uint64_t *cpus = calloc(h->nr_cpus, sizeof(*cpus));
	struct bucket_key *keys = NULL;
	size_t nr = 0;
	int error = cpus ? list_buckets(h, &keys, &nr) : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++) {
		uint64_t count = 0;

		if (bpf_map_lookup_elem(h->buckets_fd, &keys[i], cpus) ||
		    bpf_map_delete_elem(h->buckets_fd, &keys[i])) {
			error = -errno;
			break;
		}
		for (int cpu = 0; cpu < h->nr_cpus; cpu++)
			count += cpus[cpu];
		error = add_bucket(h, &keys[i], count);
	}
	free(keys);
	free(cpus);
	return error;
}

uint32_t bpf_histograms_stack_flags(const struct bpf_histograms *h)
{
	return STACK_SLOT(SLOT(0, h->turn - 1));
}

static int most_time_first(const void *left, const void *right)
{
	const struct series *l = left, *r = right;

	if (l->histogram.total_ns != r->histogram.total_ns)
		return l->histogram.total_ns > r->histogram.total_ns ? -1 : 1;
	return l->number < r->number ? -1 : 1;
}

static int most_errors_first(const void *left, const void *right)
{
	const struct errno_count *l = left, *r = right;

	return l->count != r->count ? (l->count > r->count ? -1 : 1) : l->number - r->number;
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
			qsort(h->series[i].by_errno, h->series[i].nr_errnos, sizeof(struct errno_count),
			      most_errors_first);
	if (h->nr)
		qsort(h->series, h->nr, sizeof(*h->series), most_time_first);
	*series = h->series;
	*nr = h->nr;
	return 0;
}
