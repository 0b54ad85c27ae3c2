// SPDX-License-Identifier: GPL-2.0-or-later
/* Histograms against the values themselves: sorted, summed and counted one by one. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/heatmap.h"
#include "report/histogram.h"

#define NR 20000

static uint64_t values[NR];

static int ascending(const void *left, const void *right)
{
	uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;

	return l < r ? -1 : l > r;
}

static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* of any magnitude below 2^bits */
static uint64_t random_value(int bits)
{
	return random_bits() >> (64 - bits) >> random_bits() % bits;
}

static void check_values(const char *name, const struct histogram_unit *unit, size_t nr)
{
	static const double shares[] = { 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1 };
	struct histogram *h = malloc(sizeof(*h));
	uint64_t total = 0, rows[HISTOGRAM_ROWS], expected[HISTOGRAM_ROWS] = {};

	histogram_init(h, unit);
	for (size_t i = 0; i < nr; i++) {
		int row = 0;

		histogram_add(h, values[i], 1);
		total += values[i];
		for (uint64_t v = values[i] / unit->ns; v > 1; v /= 2)
			row++;
		expected[row]++;
	}
	qsort(values, nr, sizeof(values[0]), ascending);
	check(h->count == nr && h->total_ns == total && h->min_ns == values[0] &&
		      h->max_ns == values[nr - 1],
	      "%s, %s", name, unit->name);
	check(histogram_mean(h) == total / nr);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		/* the first of which at least that share is below or the same */
		size_t rank = shares[i] * nr;
		uint64_t exact, got = histogram_quantile(h, shares[i]);

		rank += rank < shares[i] * nr;
		exact = values[rank - 1];
		/* a 64th, and where units are finer than buckets, one of those */
		check((got > exact ? got - exact : exact - got) <= exact / 64 + 1,
		      "%s, %s: %g is %llu, exactly %llu", name, unit->name, shares[i],
		      (unsigned long long)got, (unsigned long long)exact);
	}
	histogram_fold(h, rows);
	check(!memcmp(rows, expected, sizeof(rows)), "%s, %s", name, unit->name);
	free(h);
}

static void check_all(const char *name, size_t nr)
{
	check_values(name, &histogram_nsecs, nr);
	check_values(name, &histogram_usecs, nr);
	check_values(name, &histogram_msecs, nr);
}

static void check_buckets(void)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < NR_BUCKETS; i++) {
		/* 0 at the end: 2^64 */
		uint64_t start = bucket_start(i), next = bucket_start(i + 1);

		bad += bucket_of(start) != i || bucket_of(next - 1) != i ||
		       (start >= 64 && next - start > start / 64);
	}
	check(bad == 0 && bucket_start(NR_BUCKETS) == 0 && bucket_of(UINT64_MAX) == NR_BUCKETS - 1);
}

static void check_times(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.000 us" },
		{ 18021234, "18.02 ms" },
		{ 999960, "1.000 ms" },
		{ 25030000000, "25.03 s" },
		{ 999940000, "999.9 ms" },
		{ 123456000000, "123.5 s" },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		check(!strcmp(histogram_time(times[i].ns).text, times[i].text), "%s: %s",
		      times[i].text, histogram_time(times[i].ns).text);
}

/* bcc's picture of 0, 1, 1, 2 and 3: its first row is that of 0 and 1 */
static void check_rows(void)
{
	static const char bcc[] =
		"     nsecs               : count     distribution\n"
		"         0 -> 1          : 3        |****************************************|\n"
		"         2 -> 3          : 2        |**************************              |\n";
	struct histogram *h = malloc(sizeof(*h));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	histogram_init(h, &histogram_nsecs);
	histogram_add(h, 0, 1);
	histogram_add(h, 1, 2);
	histogram_add(h, 2, 1);
	histogram_add(h, 3, 1);
	histogram_print_log2(out, h);
	fclose(out);
	check(!strcmp(text, bcc), "%s", text);
	free(text);
	free(h);
}

static uint64_t sum_of(const struct heatmap_column *column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < HEATMAP_ROWS; i++)
		sum += column->rows[i];
	return sum;
}

/* what is drawn: a cell for each time and interval that has any, and as dark as it should be */
static void check_heatmap(void)
{
	struct histogram *h = malloc(sizeof(*h));
	struct heatmap map;
	char *text = NULL, *line, *at;
	int columns[3] = {};
	size_t size;
	FILE *out;

	heatmap_init(&map, "<&>", &histogram_usecs, 1);
	histogram_init(h, &histogram_usecs);
	histogram_add(h, 5000, 1000);
	histogram_add(h, 70000, 1);
	heatmap_add(&map, 0, h);
	histogram_init(h, &histogram_usecs);
	histogram_add(h, 70000, 1000);
	histogram_add(h, 80000, 1000); /* in the row above it */
	heatmap_add(&map, 2, h);
	check(map.nr == 3);

	out = open_memstream(&text, &size);
	heatmap_print(out, &map, 80, false);
	fclose(out);
	for (line = text; (line = strchr(line, '|')); line = strchr(line, '\n'))
		for (int i = 0; i < 3; i++)
			columns[i] += line[i + 1] == '@'   ? 100
				      : line[i + 1] == '.' ? 1
				      : line[i + 1] == ' ' ? 0
							   : 10000;
	check(columns[0] == 101 && columns[1] == 0 && columns[2] == 200, "%s", text);
	free(text);

	out = open_memstream(&text, &size);
	heatmap_svg(out, (const struct heatmap *const[]){ NULL, &map }, 2);
	fclose(out);
	columns[0] = 0;
	for (at = text; (at = strstr(at, "</title></rect>")); at++)
		columns[0]++;
	check(columns[0] == 4 && strstr(text, "<title>1000 from ") &&
		      strstr(text, "&#60;&#38;&#62;"),
	      "%s", text);
	free(text);

	heatmap_add(&map, 3, h);
	heatmap_add(&map, 6, h);
	heatmap_halve(&map);
	check(map.nr == 4 && map.nr_columns == 4 && map.interval_seconds == 2);
	check(sum_of(&map.columns[0]) == 1001 && sum_of(&map.columns[1]) == 4000 &&
		      !sum_of(&map.columns[2]) && sum_of(&map.columns[3]) == 2000,
	      "two intervals in each column, and no call lost");
	heatmap_halve(&map);
	check(map.nr == 2 && map.nr_columns == 2 && sum_of(&map.columns[0]) == 5001 &&
	      sum_of(&map.columns[1]) == 2000);
	heatmap_free(&map);
	heatmap_init(&map, "late", &histogram_usecs, 1);
	heatmap_add(&map, 5, h);
	heatmap_add(&map, 6, h);
	heatmap_halve(&map);
	check(map.first == 2 && map.nr_columns == 2 && sum_of(&map.columns[0]) == 2000 &&
		      sum_of(&map.columns[1]) == 2000,
	      "one that began later");
	heatmap_free(&map);
	free(h);
}

int main(void)
{
	check_buckets();
	for (size_t i = 0; i < NR; i++)
		values[i] = random_value(40);
	check_all("random", NR);
	for (size_t i = 0; i < NR; i++)
		values[i] = random_value(64) / NR;
	check_all("random, up to the largest sum", NR);
	for (size_t i = 0; i < NR; i++)
		values[i] = i * i;
	check_all("squares", NR);
	for (size_t i = 0; i < NR; i++)
		values[i] = 123456789;
	check_all("constant", NR);
	values[0] = 0;
	check_all("0", 1);
	values[0] = 1;
	check_all("1", 1);
	values[0] = 1ULL << 63;
	check_all("2^63", 1);
	values[0] = 0, values[1] = 1, values[2] = 1ULL << 62;
	check_all("0, 1, 2^62", 3);
	check_times();
	check_rows();
	check_heatmap();
	return check_done();
}
