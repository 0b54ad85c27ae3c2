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
	struct heatmap_column *columns;
	size_t nr;
};

/* 0 or -ENOMEM */
int heatmap_init(struct heatmap *map, const char *title, const struct histogram_unit *unit,
		 double interval_seconds);
void heatmap_free(struct heatmap *map);
/*
 * Adds the histogram of an interval, numbered from 0. NULL: an empty histogram; skipped intervals
 * are also empty. 0 or -ENOMEM
 */
int heatmap_add(struct heatmap *map, size_t interval, const struct histogram *histogram);

/* width: of the terminal, in characters; colours: use 256 colours, else plain characters */
void heatmap_print(FILE *out, const struct heatmap *map, size_t width, bool colours);

/* Draws several heat maps below each other; maps[i] may be NULL. */
void heatmap_svg(FILE *out, const struct heatmap *const *maps, size_t nr);

#endif
