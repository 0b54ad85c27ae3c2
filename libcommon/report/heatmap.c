// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/heatmap.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int heatmap_init(struct heatmap *map, const char *title, const struct histogram_unit *unit,
		 double interval_seconds)
{
	*map = (struct heatmap){ .title = strdup(title),
				 .unit = unit,
				 .interval_seconds = interval_seconds };
	return map->title ? 0 : -ENOMEM;
}

void heatmap_free(struct heatmap *map)
{
	free(map->title);
	free(map->columns);
}

int heatmap_add(struct heatmap *map, size_t interval, const struct histogram *histogram)
{
	size_t column;

	if (!map->nr_columns)
		map->first = interval;
	column = interval - map->first;
	if (column >= map->nr_columns) {
		struct heatmap_column *more = reallocarray(map->columns, column + 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(&more[map->nr_columns], 0, (column + 1 - map->nr_columns) * sizeof(*more));
		map->columns = more;
		map->nr_columns = column + 1;
	}
	heatmap_extend(map, interval + 1);
	for (size_t i = 0; i < NR_BUCKETS; i++)
		map->columns[column].rows[i * HEATMAP_ROWS / NR_BUCKETS] += histogram->buckets[i];
	return 0;
}

void heatmap_halve(struct heatmap *map)
{
	size_t first = map->first / 2;

	for (size_t c = 0; c < map->nr_columns; c++) {
		size_t to = (map->first + c) / 2 - first;
		struct heatmap_column column = map->columns[c];

		map->columns[c] = (struct heatmap_column){};
		for (size_t i = 0; i < HEATMAP_ROWS; i++)
			map->columns[to].rows[i] += column.rows[i];
	}
	if (map->nr_columns) {
		struct heatmap_column *fewer;

		map->nr_columns = (map->first + map->nr_columns - 1) / 2 - first + 1;
		fewer = reallocarray(map->columns, map->nr_columns, sizeof(*fewer));
		if (fewer)
			map->columns = fewer;
	}
	map->first = first;
	map->nr = (map->nr + 1) / 2;
	map->interval_seconds *= 2;
}

void heatmap_extend(struct heatmap *map, size_t intervals)
{
	if (map->nr < intervals)
		map->nr = intervals;
}

static uint64_t count_of(const struct heatmap *map, size_t interval, size_t row)
{
	size_t column = interval - map->first;

	return interval < map->first || column >= map->nr_columns ? 0
								  : map->columns[column].rows[row];
}

/* ---- what is shown ---- */

/* the rows in use, grouped so that there are not too many */
struct view {
	const struct heatmap *map;
	size_t first, end, group; /* rows; first is a multiple of group */
	uint64_t most;            /* the largest count of a cell */
};

static uint64_t cell(const struct view *v, size_t column, size_t row)
{
	uint64_t count = 0;

	for (size_t i = row; i < row + v->group && i < HEATMAP_ROWS; i++)
		count += count_of(v->map, column, i);
	return count;
}

static struct view view_of(const struct heatmap *map, size_t max_rows)
{
	struct view v = { .map = map, .first = HEATMAP_ROWS, .group = 1 };

	for (size_t c = 0; c < map->nr; c++) {
		for (size_t r = 0; r < HEATMAP_ROWS; r++) {
			if (!count_of(map, c, r))
				continue;
			if (r < v.first)
				v.first = r;
			if (r >= v.end)
				v.end = r + 1;
		}
	}
	if (v.first >= v.end)
		v.first = v.end;
	while (v.end - v.first > max_rows * v.group)
		v.group *= 2;
	v.first -= v.first % v.group;
	for (size_t c = 0; c < map->nr; c++)
		for (size_t r = v.first; r < v.end; r += v.group)
			if (cell(&v, c, r) > v.most)
				v.most = cell(&v, c, r);
	return v;
}

/* the least time in a row */
static struct histogram_time row_time(const struct view *v, size_t row)
{
	return histogram_value(v->map->unit,
			       histogram_bucket_ns(v->map->unit,
						   row * (NR_BUCKETS / HEATMAP_ROWS)));
}

/*
 * 0 for an empty cell, else 1 to steps, on a logarithmic scale: few calls must be visible beside
 * many.
 */
static int shade(const struct view *v, uint64_t count, int steps)
{
	if (!count)
		return 0;
	return v->most == 1 ? steps : 1 + (int)(log(count) / log(v->most) * (steps - 1) + 0.5);
}

/* ---- in a terminal ---- */

#define TERMINAL_ROWS 32
#define LABEL_WIDTH   10

static const char plain[] = " .:-=+*#%@";
static const uint8_t colours_256[] = { 0,   17,  18,  54,  90,  126, 162,
				       198, 203, 209, 215, 221, 227, 229 };

static void print_cell(FILE *out, const struct view *v, uint64_t count, bool colours)
{
	if (!colours)
		putc(plain[shade(v, count, sizeof(plain) - 2)], out);
	else if (count)
		fprintf(out, "\033[48;5;%dm \033[0m",
			colours_256[shade(v, count, sizeof(colours_256) - 1)]);
	else
		putc(' ', out);
}

static void print_part(FILE *out, const struct view *v, size_t begin, size_t end, bool colours)
{
	double from = begin * v->map->interval_seconds, to = end * v->map->interval_seconds;
	int width = end - begin;

	for (size_t row = v->end - 1 - (v->end - 1) % v->group; row + v->group > v->first;
	     row -= v->group) {
		fprintf(out, "%*s |", LABEL_WIDTH, row_time(v, row).text);
		for (size_t c = begin; c < end; c++)
			print_cell(out, v, cell(v, c, row), colours);
		fputs("|\n", out);
		if (row < v->group)
			break;
	}
	fprintf(out, "%*s  %-*.6g%.6g s\n", LABEL_WIDTH, "", width > 6 ? width - 3 : 4, from, to);
}

void heatmap_print(FILE *out, const struct heatmap *map, size_t width, bool colours)
{
	struct view v = view_of(map, TERMINAL_ROWS);
	size_t columns = width > LABEL_WIDTH + 13 ? width - LABEL_WIDTH - 3 : 10;

	fprintf(out, "%s\n", map->title);
	for (size_t c = 0; c < map->nr && v.most; c += columns)
		print_part(out, &v, c, c + columns < map->nr ? c + columns : map->nr, colours);
	fprintf(out, "one column is %.6g s; ", map->interval_seconds);
	for (int i = 1; i < (int)sizeof(plain) - 1; i++) {
		int at = 1 + (i - 1) * (int)(sizeof(colours_256) - 2) / (int)(sizeof(plain) - 3);

		if (colours)
			fprintf(out, "\033[48;5;%dm \033[0m", colours_256[at]);
		else
			putc(plain[i], out);
	}
	fprintf(out, " 1 to %" PRIu64 "\n\n", v.most);
}

/* ---- as a picture ---- */

#define SVG_ROWS    96
#define CELL_HEIGHT 9
#define LEFT        90
#define TOP         40
#define BOTTOM      40
#define SHADES      64

static void put_xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("&<>\"'", *text))
			fprintf(out, "&#%d;", *text);
		else if (*text < ' ' || *text > '~')
			fputs("&#xfffd;", out);
		else
			putc(*text, out);
	}
}

/* from light yellow to dark red */
static void put_colour(FILE *out, int shade)
{
	double part = (double)shade / SHADES;

	fprintf(out, "#%02x%02x%02x", (int)(255 - 115 * part * part), (int)(235 * (1 - part)),
		(int)(170 * (1 - part) * (1 - part)));
}

static size_t rows_of(const struct view *v)
{
	return (v->end - v->first + v->group - 1) / v->group;
}

static size_t cell_width(const struct heatmap *map)
{
	if (map->nr > 400)
		return 2;
	return map->nr > 100 ? 6 : 12;
}

static void svg_cells(FILE *out, const struct view *v, size_t top)
{
	size_t rows = rows_of(v), width = cell_width(v->map);

	for (size_t c = 0; c < v->map->nr; c++) {
		for (size_t i = 0; i < rows; i++) {
			size_t row = v->first + i * v->group;
			uint64_t count = cell(v, c, row);

			if (!count)
				continue;
			fprintf(out,
				"<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" fill=\"",
				LEFT + c * width, top + (rows - 1 - i) * CELL_HEIGHT, width,
				CELL_HEIGHT);
			put_colour(out, shade(v, count, SHADES));
			fprintf(out,
				"\"><title>%" PRIu64
				" from %s to %s, in %.6g s to %.6g s</title></rect>\n",
				count, row_time(v, row).text, row_time(v, row + v->group).text,
				c * v->map->interval_seconds, (c + 1) * v->map->interval_seconds);
		}
	}
}

static void svg_axes(FILE *out, const struct view *v, size_t top)
{
	size_t rows = rows_of(v), width = cell_width(v->map), step = (100 + width - 1) / width;

	for (size_t i = 0; i < rows; i += 2)
		fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
			top + (rows - i) * CELL_HEIGHT, row_time(v, v->first + i * v->group).text);
	for (size_t c = 0; c <= v->map->nr; c += step)
		fprintf(out, "<text x=\"%zu\" y=\"%zu\">%.6g s</text>\n", LEFT + c * width,
			top + rows * CELL_HEIGHT + 14, c * v->map->interval_seconds);
	fprintf(out,
		"<rect x=\"%d\" y=\"%zu\" width=\"%zu\" height=\"%zu\" fill=\"none\" stroke=\"#888\"/>\n",
		LEFT, top, v->map->nr * width, rows * CELL_HEIGHT);
}

static size_t svg_one(FILE *out, const struct heatmap *map, size_t top)
{
	struct view v = view_of(map, SVG_ROWS);

	fprintf(out, "<text x=\"%d\" y=\"%zu\" font-size=\"14\">", LEFT, top + TOP - 12);
	put_xml(out, map->title);
	fprintf(out, " (1 to %" PRIu64 " in a cell)</text>\n", v.most);
	svg_cells(out, &v, top + TOP);
	svg_axes(out, &v, top + TOP);
	return top + TOP + rows_of(&v) * CELL_HEIGHT + BOTTOM;
}

void heatmap_svg(FILE *out, const struct heatmap *const *maps, size_t nr)
{
	size_t width = 640, height = 10, top = 0;

	for (size_t i = 0; i < nr; i++) {
		struct view v;

		if (!maps[i])
			continue;
		v = view_of(maps[i], SVG_ROWS);
		height += TOP + rows_of(&v) * CELL_HEIGHT + BOTTOM;
		if (LEFT + maps[i]->nr * cell_width(maps[i]) + 60 > width)
			width = LEFT + maps[i]->nr * cell_width(maps[i]) + 60;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" font-family=\"sans-serif\" font-size=\"10\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		width, height);
	for (size_t i = 0; i < nr; i++)
		if (maps[i])
			top = svg_one(out, maps[i], top);
	fputs("</svg>\n", out);
}
