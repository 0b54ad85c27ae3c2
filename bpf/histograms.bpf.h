/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers times in series, each a histogram with exact count, total, minimum and maximum. The
 * includer defines SERIES_KEY, the type of a series' key. It must have no padding, because keys are
 * compared by all their bytes. Then a time is added by
 *
 *   series_add(series_slot(series_of(&key)), ns, 0, 0, 0)
 *
 * There are copies of all values, so that CPUs do not wait for each other; where there are many
 * CPUs, some share one. So values are changed at once, and no update is lost.
 */
#ifndef EHPERF_HISTOGRAMS_BPF_H
#define EHPERF_HISTOGRAMS_BPF_H

#include "kernel.bpf.h"
#include "histogram_bucket.h"
#include "histograms_abi.h"

const volatile __u32 unit_ns = 1000, unit_shift = 10; /* for bucket_value() */
const volatile __u32 copy_mask;                       /* a CPU's number & copy_mask: its copy's */

/*
 * HISTOGRAMS_TURN says which of a series' two slots is filled. User space changes it, and then
 * waits for a grace period, by an update of `grace`, until no program runs that may have read the
 * old turn.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_HISTOGRAMS_CONTROLS);
	__type(key, __u32); /* HISTOGRAMS_* */
	__type(value, __u64);
} histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, __u32);
		});
} grace SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SERIES);
	__type(key, SERIES_KEY);
	__type(value, __u32); /* its number */
} series SEC(".maps");

/*
 * Copies are in plain arrays, which libcommon/kernel/histograms.c makes large enough: the kernel takes
 * most of a tenth of a second to allocate as many per-CPU values.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32); /* copy * NR_SLOTS + SLOT() */
	__type(value, struct series_stats);
} series_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_BUCKET_COUNTS);
	__type(key, struct bucket_key);
	__type(value, __u32); /* its number */
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_BUCKET_COUNTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32); /* copy * NR_BUCKET_COUNTS + number */
	__type(value, __u64);
} bucket_counts SEC(".maps");

static __always_inline __u64 *histograms_control(__u32 which)
{
	return bpf_map_lookup_elem(&histograms, &which);
}

/* A number for a new series; REST_SERIES: there are too many already */
static __always_inline __u32 new_series(void)
{
	__u64 *used = histograms_control(HISTOGRAMS_NR), number;

	if (!used || *used >= MAX_SERIES)
		return REST_SERIES;
	number = __sync_fetch_and_add(used, 1);
	return number < MAX_SERIES ? number : REST_SERIES;
}

/* the number of the series with this key; REST_SERIES: it would be one too many */
static __always_inline __u32 series_of(const SERIES_KEY *key)
{
	__u32 *number = bpf_map_lookup_elem(&series, key), new;

	if (number)
		return *number;
	new = new_series();
	if (new == REST_SERIES)
		return REST_SERIES;
	bpf_map_update_elem(&series, key, &new, BPF_NOEXIST); /* another CPU may be first */
	number = bpf_map_lookup_elem(&series, key);
	return number ? *number : REST_SERIES;
}

/*
 * bucket_of() as a global function, whose argument the verifier knows nothing about. When inlined,
 * it knows that the lower bits of what bucket_value() has shifted are 0, and derives empty ranges
 * from some comparisons in bucket_of(): 6.17 and 6.18 WARN about that, if they are built to.
 */
__noinline __u32 bucket_of_value(__u64 value)
{
	return bucket_of(value);
}

/* its number; NULL: there are too many already */
static __always_inline __u32 *new_bucket(const struct bucket_key *key)
{
	__u32 turn = key->slot & 1, number;
	__u64 *used = histograms_control(HISTOGRAMS_BUCKETS + turn), before;

	if (!used || *used >= MAX_BUCKETS)
		return NULL;
	before = __sync_fetch_and_add(used, 1);
	if (before >= MAX_BUCKETS)
		return NULL;
	number = turn * MAX_BUCKETS + before;
	bpf_map_update_elem(&buckets, key, &number, BPF_NOEXIST); /* another CPU may be first */
	return bpf_map_lookup_elem(&buckets, key);
}

static __always_inline __u32 copy_of_cpu(void)
{
	return bpf_get_smp_processor_id() & copy_mask;
}

#define MAX_RAISES 16 /* as many CPUs would have to raise it meanwhile */

static __always_inline void raise(__u64 *most, __u64 value)
{
	for (int i = 0; i < MAX_RAISES; i++) {
		__u64 before = *(volatile __u64 *)most;

		if (value <= before || __sync_bool_compare_and_swap(most, before, value))
			return;
	}
}

static __always_inline bool count_in_bucket(__u32 slot, __u32 bucket)
{
	struct bucket_key key = { .slot = slot, .bucket = bucket };
	__u32 *number = bpf_map_lookup_elem(&buckets, &key), at;
	__u64 *count;

	if (!number)
		number = new_bucket(&key);
	if (!number)
		return false;
	at = copy_of_cpu() * NR_BUCKET_COUNTS + *number;
	count = bpf_map_lookup_elem(&bucket_counts, &at);
	if (count)
		__sync_fetch_and_add(count, 1);
	return count;
}

/*
 * The slot of a series that is filled now. Get it once for values that belong together: it may
 * change at any time.
 */
static __always_inline __u32 series_slot(__u32 number)
{
	__u64 *turn = histograms_control(HISTOGRAMS_TURN);

	return SLOT(number, turn ? *turn : 0);
}

/*
 * Adds a value to this slot: latency_ns, of which the others are parts. error: 0 or an errno
 */
static __always_inline void series_add(__u32 slot, __u64 latency_ns, __u64 blocked_ns,
				       __u64 waiting_ns, __u32 error)
{
	__u32 at = copy_of_cpu() * NR_SLOTS + slot;
	struct series_stats *s = bpf_map_lookup_elem(&series_stats, &at);

	if (!s)
		return;
	raise(&s->above_min_ns, ~latency_ns);
	raise(&s->max_ns, latency_ns);
	__sync_fetch_and_add(&s->count, 1);
	__sync_fetch_and_add(&s->total_ns, latency_ns);
	__sync_fetch_and_add(&s->blocked_ns, blocked_ns);
	__sync_fetch_and_add(&s->waiting_ns, waiting_ns);
	if (error) {
		__sync_fetch_and_add(&s->errors, 1);
		count_in_bucket(slot, BUCKET_ERROR + error);
	}
	if (!count_in_bucket(slot, bucket_of_value(bucket_value(latency_ns, unit_ns, unit_shift))))
		__sync_fetch_and_add(&s->no_bucket, 1);
}

#endif
