/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buckets of a log-linear histogram, for the kernel and user space. Each value below 64 has a
 * bucket of its own; above, each octave is divided into 64 buckets, so that a bucket's width is at
 * most 1/64 of its values. Values are times in 1/2^shift of a unit, so that every power of two of
 * the unit is the beginning of a bucket.
 */
#ifndef EHPERF_HISTOGRAM_BUCKET_H
#define EHPERF_HISTOGRAM_BUCKET_H

#include <linux/types.h>

#define BUCKET_BITS 6
#define NR_BUCKETS  ((64 - BUCKET_BITS + 1) << BUCKET_BITS)

/*
 * floor(log2(value)), value > 0. Whether more than `step` bits are in use is the sign of a
 * difference (or the value's own), and no branch: a verifier would follow all combinations of six.
 */
static inline __attribute__((always_inline)) __u32 bucket_log2(__u64 value)
{
	__u32 log = 0;

	for (__u32 step = 32; step; step /= 2) {
		__u32 up = ((((1ULL << step) - 1 - value) | value) >> 63) * step;

		value >>= up;
		log += up;
	}
	return log;
}

static inline __attribute__((always_inline)) __u32 bucket_of(__u64 value)
{
	__u32 log;

	if (value < 1 << BUCKET_BITS)
		return value;
	log = bucket_log2(value) - BUCKET_BITS;
	/* value >> log is 64 to 127: its 64 adds one octave to the index */
	return (log << BUCKET_BITS) + (value >> log);
}

/* the least value of a bucket; 0 for NR_BUCKETS, because 2^64 does not fit */
static inline __attribute__((always_inline)) __u64 bucket_start(__u32 bucket)
{
	__u32 log = bucket >> BUCKET_BITS;

	if (log <= 1)
		return bucket;
	if (bucket >= NR_BUCKETS)
		return 0;
	return ((__u64)(bucket & ((1 << BUCKET_BITS) - 1)) + (1 << BUCKET_BITS)) << (log - 1);
}

/*
 * A time as a value of the buckets: exact, unless it is too long to be shifted. Then it is rounded
 * down to units.
 */
static inline __attribute__((always_inline)) __u64 bucket_value(__u64 ns, __u32 unit_ns,
								__u32 shift)
{
	return ns >> (64 - shift - 1) ? ns / unit_ns << shift : (ns << shift) / unit_ns;
}

#endif
