/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms over time: a column for each interval, a row for each quarter of an octave or more, darker for more. */
#ifndef EHPERF_REPORT_HEATMAP_H
#define EHPERF_REPORT_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/histogram.h"

#define HEATMAP_ROWS (NR_BUCKETS / 16)

struct heatmap_column {
	uint64_t rows[HEATMAP_ROWS];	/* how many in each */
};

struct heatmap {
	char *title;
	const struct histogram_unit *unit;
	double interval_seconds;
	struct heatmap_column *columns;
	size_t nr;
};

/* 0 or -ENOMEM */
int heatmap_init(struct heatmap *map, const char *title, const struct histogram_unit *unit, double interval_seconds);
void heatmap_free(struct heatmap *map);
/* What came in this interval, counted from 0; NULL: nothing, as in those left out. 0 or -ENOMEM */
int heatmap_add(struct heatmap *map, size_t interval, const struct histogram *histogram);

/* width: of the terminal; colours: its 256, else plain characters */
void heatmap_print(FILE *out, const struct heatmap *map, size_t width, bool colours);

/* a picture of several, one below the other; maps[i] may be NULL */
void heatmap_svg(FILE *out, const struct heatmap *const *maps, size_t nr);

#endif
