/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of times, or of sizes: then what is called ns here is bytes. Count, total, minimum and
 * maximum are exact; log-linear buckets (bpf/histogram_bucket.h) give quartiles within 1/64, and
 * are folded to powers of two of a unit for the picture.
 */
#ifndef EHPERF_REPORT_HISTOGRAM_H
#define EHPERF_REPORT_HISTOGRAM_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "histogram_bucket.h"

/* the unit of the picture */
struct histogram_unit {
	const char *name; /* "usecs" */
	uint32_t ns;      /* or bytes */
	uint32_t shift;   /* buckets hold values in 1/2^shift units */
	bool is_size;
};

extern const struct histogram_unit histogram_nsecs, histogram_usecs, histogram_msecs,
	histogram_kbytes;

struct histogram {
	const struct histogram_unit *unit;
	uint64_t count; /* of all values; if the buckets hold fewer, quartiles are of the latter */
	uint64_t total_ns;
	uint64_t min_ns, max_ns; /* valid if count is not 0 */
	uint64_t buckets[NR_BUCKETS];
};

/* the least time in a bucket */
uint64_t histogram_bucket_ns(const struct histogram_unit *unit, uint32_t bucket);

void histogram_init(struct histogram *histogram, const struct histogram_unit *unit);
/* Adds the same time `count` times. */
void histogram_add(struct histogram *histogram, uint64_t ns, uint64_t count);

/* ---- statistics, of a histogram that is not empty ---- */

/* the share quantile (0 < share <= 1): in the same bucket as the exact one */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
uint64_t histogram_mean(const struct histogram *histogram);

/* ---- pictures, in the layout of bcc's print_log2_hist() ---- */

#define HISTOGRAM_ROWS 64 /* [0, 1], [2, 3], [4, 7], ... units */

/* Counts the values of each row. Returns the number of rows up to the last one in use */
size_t histogram_fold(const struct histogram *histogram, uint64_t rows[HISTOGRAM_ROWS]);
void histogram_print_log2(FILE *out, const struct histogram *histogram);

/* "calls 7  total 1.2 ms  min ... p25 p50 p75 p90 p99 p99.9 max mean" and a line end */
void histogram_print_statistics(FILE *out, const struct histogram *histogram, const char *what);
/* a time for people, with four digits: "18.02 ms" */
struct histogram_time {
	char text[24];
};
struct histogram_time histogram_time(uint64_t ns);
/* a value of this unit: a time, or a size, "4.000 KiB" */
struct histogram_time histogram_value(const struct histogram_unit *unit, uint64_t value);

/* "unit", "count", "total_ns" (or "total_bytes"), ..., "buckets", into an object */
void histogram_json(struct json_object *object, const struct histogram *histogram);

#endif
