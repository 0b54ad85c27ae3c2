/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heat maps of histograms over time: one column per interval, one row per quarter of an octave or
 * more.
 */
#ifndef EHPERF_REPORT_HEATMAP_H
#define EHPERF_REPORT_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/histogram.h"

#define HEATMAP_ROWS (NR_BUCKETS / 16)

struct heatmap_column {
	uint64_t rows[HEATMAP_ROWS]; /* counts */
};

struct heatmap {
	char *title;
	const struct histogram_unit *unit;
	double interval_seconds;
	struct heatmap_column *columns; /* of the intervals from `first` on */
	size_t first, nr_columns;
	size_t nr; /* intervals */
};

/* 0 or -ENOMEM */
int heatmap_init(struct heatmap *map, const char *title, const struct histogram_unit *unit,
		 double interval_seconds);
void heatmap_free(struct heatmap *map);
/*
 * Adds the histogram of an interval, numbered from 0 and not lower than before; skipped intervals
 * are empty. 0 or -ENOMEM
 */
int heatmap_add(struct heatmap *map, size_t interval, const struct histogram *histogram);
/* Two intervals become one, so that a map of a long run does not grow without end. */
void heatmap_halve(struct heatmap *map);
/* There are so many intervals: the last ones may be empty. */
void heatmap_extend(struct heatmap *map, size_t intervals);

/* width: of the terminal, in characters; colours: use 256 colours, else plain characters */
void heatmap_print(FILE *out, const struct heatmap *map, size_t width, bool colours);

/* Draws several heat maps below each other; maps[i] may be NULL. */
void heatmap_svg(FILE *out, const struct heatmap *const *maps, size_t nr);

#endif
