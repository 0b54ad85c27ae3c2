/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of a log-linear histogram, for both sides: each value below 64 has one of its own, and so has
 * each 64th part of every octave above, so that a bucket is at most 1/64 as wide as its values are large.
 * Values are times in 1/2^shift of a unit, so that the unit's powers of two begin buckets.
 */
#ifndef EHPERF_HISTOGRAM_BUCKET_H
#define EHPERF_HISTOGRAM_BUCKET_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define BUCKET_BITS	6
#define NR_BUCKETS	((64 - BUCKET_BITS + 1) << BUCKET_BITS)

/* floor(log2(value)), value > 0 */
static inline __attribute__((always_inline)) __u32 bucket_log2(__u64 value)
{
	__u32 log = 0;

	for (__u32 step = 32; step; step /= 2) {
		if (value >> step) {
			value >>= step;
			log += step;
		}
	}
	return log;
}

static inline __attribute__((always_inline)) __u32 bucket_of(__u64 value)
{
	__u32 log;

	if (value < 1 << BUCKET_BITS)
		return value;
	log = bucket_log2(value) - BUCKET_BITS;
	/* value >> log is 64 and more: it counts one octave of the index */
	return (log << BUCKET_BITS) + (value >> log);
}

/* the value that a bucket begins with; at NR_BUCKETS, 2^64 does not fit and is 0 */
static inline __attribute__((always_inline)) __u64 bucket_start(__u32 bucket)
{
	__u32 log = bucket >> BUCKET_BITS;

	if (log <= 1)
		return bucket;
	if (bucket >= NR_BUCKETS)
		return 0;
	return ((__u64)(bucket & ((1 << BUCKET_BITS) - 1)) + (1 << BUCKET_BITS)) << (log - 1);
}

/* a time as a value: exact but for what is too long to be shifted, where it is rounded down to units */
static inline __attribute__((always_inline)) __u64 bucket_value(__u64 ns, __u32 unit_ns, __u32 shift)
{
	return ns >> (64 - shift - 1) ? ns / unit_ns << shift : (ns << shift) / unit_ns;
}

#endif
