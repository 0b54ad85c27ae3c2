// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/histogram.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MAX_STARS 40

const struct histogram_unit histogram_nsecs = { "nsecs", 1, 0 },
			    histogram_usecs = { "usecs", 1000, 10 },
			    histogram_msecs = { "msecs", 1000000, 20 },
			    histogram_kbytes = { "kbytes", 1024, 10, true };

void histogram_init(struct histogram *h, const struct histogram_unit *unit)
{
	memset(h, 0, sizeof(*h));
	h->unit = unit;
}

void histogram_add(struct histogram *h, uint64_t ns, uint64_t count)
{
	if (!count)
		return;
	if (!h->count || ns < h->min_ns)
		h->min_ns = ns;
	if (!h->count || ns > h->max_ns)
		h->max_ns = ns;
	h->count += count;
	h->total_ns += ns * count;
	h->buckets[bucket_of(bucket_value(ns, h->unit->ns, h->unit->shift))] += count;
}

/* ---- statistics ---- */

/* converts a value of the buckets to ns */
static double value_ns(const struct histogram_unit *unit, double value)
{
	return ldexp(value, -(int)unit->shift) * unit->ns;
}

/* the least value of a bucket; NR_BUCKETS: the end of the last one */
static double start_of(uint32_t bucket)
{
	return bucket < NR_BUCKETS ? (double)bucket_start(bucket) : 0x1p64;
}

uint64_t histogram_bucket_ns(const struct histogram_unit *unit, uint32_t bucket)
{
	double ns = ceil(value_ns(unit, start_of(bucket)));

	return ns < 0x1p64 ? ns : UINT64_MAX;
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
	uint64_t in_buckets = 0, before = 0, rank;

	for (size_t i = 0; i < NR_BUCKETS; i++)
		in_buckets += h->buckets[i];
	rank = ceil(share * in_buckets);
	for (uint32_t i = 0; i < NR_BUCKETS && rank; i++) {
		double part, ns;

		if (before + h->buckets[i] < rank) {
			before += h->buckets[i];
			continue;
		}
		/* assume that values are spread evenly over the bucket */
		part = (rank - before - 0.5) / h->buckets[i];
		ns = value_ns(h->unit, start_of(i) + part * (start_of(i + 1) - start_of(i)));
		if (ns <= h->min_ns)
			return h->min_ns;
		return ns >= h->max_ns ? h->max_ns : (uint64_t)ns;
	}
	return h->min_ns;
}

uint64_t histogram_mean(const struct histogram *h)
{
	return h->total_ns / h->count;
}

/* ---- pictures ---- */

size_t histogram_fold(const struct histogram *h, uint64_t rows[HISTOGRAM_ROWS])
{
	size_t used = 0;

	memset(rows, 0, HISTOGRAM_ROWS * sizeof(*rows));
	for (uint32_t i = 0; i < NR_BUCKETS; i++) {
		uint64_t units = bucket_start(i) >> h->unit->shift;
		size_t row = units ? bucket_log2(units) : 0;

		rows[row] += h->buckets[i];
		if (h->buckets[i])
			used = row + 1;
	}
	return used;
}

static uint64_t most_of(const uint64_t *counts, size_t nr)
{
	uint64_t most = 0;

	for (size_t i = 0; i < nr; i++)
		if (counts[i] > most)
			most = counts[i];
	return most;
}

static void print_bar(FILE *out, uint64_t count, uint64_t most, int width)
{
	int stars = most ? (double)width * count / most : 0;

	fprintf(out, " : %-8" PRIu64 " |%.*s%*s|\n", count, stars,
		"****************************************", width - stars, "");
}

void histogram_print_log2(FILE *out, const struct histogram *h)
{
	uint64_t rows[HISTOGRAM_ROWS], most;
	size_t used = histogram_fold(h, rows), first = 0;
	/* as bcc does, which counts rows from 1: long figures take room from the stars */
	bool wide = used > 32;

	most = most_of(rows, used);
	fprintf(out, "%*s%-*s : count     distribution\n", wide ? 15 : 5, "", wide ? 29 : 19,
		h->unit->name);
	while (first < used && !rows[first])
		first++;
	for (size_t i = first; i < used; i++) {
		fprintf(out, "%*" PRIu64 " -> %-*" PRIu64, wide ? 20 : 10, i ? UINT64_C(1) << i : 0,
			wide ? 20 : 10, (UINT64_C(2) << i) - 1);
		print_bar(out, rows[i], most, wide ? MAX_STARS / 2 : MAX_STARS);
	}
}

/* ---- figures ---- */

struct magnitude {
	const char *name;
	double units;
};

/* in the largest of these, which end with one unit */
static struct histogram_time in_digits(const struct magnitude *magnitudes, uint64_t units)
{
	struct histogram_time text;
	double value = units / magnitudes->units;
	int digits; /* after the point: 4 in all */

	while (magnitudes->units > 1 && value < 0.99995) {
		magnitudes++;
		value = units / magnitudes->units;
	}
	digits = (value < 9.9995) + (value < 99.995) + (value < 999.95);
	snprintf(text.text, sizeof(text.text), "%.*f %s", magnitudes->units > 1 ? digits : 0, value,
		 magnitudes->name);
	return text;
}

struct histogram_time histogram_time(uint64_t ns)
{
	static const struct magnitude times[] = {
		{ "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }
	};

	return in_digits(times, ns);
}

struct histogram_time histogram_value(const struct histogram_unit *unit, uint64_t value)
{
	static const struct magnitude sizes[] = { { "TiB", 0x1p40 },
						  { "GiB", 0x1p30 },
						  { "MiB", 0x1p20 },
						  { "KiB", 0x1p10 },
						  { "bytes", 1 } };

	return unit->is_size ? in_digits(sizes, value) : histogram_time(value);
}

struct statistic {
	const char *name, *json_name;
	uint64_t ns;
};
#define NR_STATISTICS 10

static void statistics_of(const struct histogram *h, struct statistic s[NR_STATISTICS])
{
	const struct statistic all[NR_STATISTICS] = {
		{ "total", "total", h->total_ns },
		{ "min", "min", h->min_ns },
		{ "p25", "p25", histogram_quantile(h, 0.25) },
		{ "p50", "p50", histogram_quantile(h, 0.5) },
		{ "p75", "p75", histogram_quantile(h, 0.75) },
		{ "p90", "p90", histogram_quantile(h, 0.9) },
		{ "p99", "p99", histogram_quantile(h, 0.99) },
		{ "p99.9", "p999", histogram_quantile(h, 0.999) },
		{ "max", "max", h->max_ns },
		{ "mean", "mean", histogram_mean(h) },
	};

	memcpy(s, all, sizeof(all));
}

void histogram_print_statistics(FILE *out, const struct histogram *h, const char *what)
{
	struct statistic s[NR_STATISTICS];

	statistics_of(h, s);
	fprintf(out, "%s %" PRIu64, what, h->count);
	for (int i = 0; i < NR_STATISTICS; i++)
		fprintf(out, "  %s %s", s[i].name, histogram_value(h->unit, s[i].ns).text);
	putc('\n', out);
}

void histogram_json(struct json_object *object, const struct histogram *h)
{
	struct json_object *buckets = json_object_new_array();
	const char *unit = h->unit->is_size ? "bytes" : "ns";
	struct statistic s[NR_STATISTICS];
	char name[16];

	statistics_of(h, s);
	json_object_object_add(object, "unit", json_object_new_string(unit));
	json_object_object_add(object, "count", json_number(h->count));
	for (int i = 0; i < NR_STATISTICS; i++) {
		snprintf(name, sizeof(name), "%s_%s", s[i].json_name, unit);
		json_object_object_add(object, name, json_number(s[i].ns));
	}
	for (uint32_t i = 0; i < NR_BUCKETS; i++) {
		struct json_object *bucket;

		if (!h->buckets[i])
			continue;
		bucket = json_object_new_object();
		json_object_object_add(bucket, "from",
				       json_number(histogram_bucket_ns(h->unit, i)));
		json_object_object_add(bucket, "to",
				       json_number(histogram_bucket_ns(h->unit, i + 1)));
		json_object_object_add(bucket, "count", json_number(h->buckets[i]));
		json_object_array_add(buckets, bucket);
	}
	json_object_object_add(object, "buckets", buckets);
}
