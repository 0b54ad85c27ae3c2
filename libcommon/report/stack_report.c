// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

enum { TEXT, FOLDED, JSON };

static const struct stack_format formats[] = {
	[TEXT] = { ".txt", stack_report_text, 32, .joins = true },
	[FOLDED] = { ".folded", stack_report_folded, 32, .joins = true },
	[JSON] = { ".jsonl", stack_report_json, 160, .joins = true },
	{ ".svg", stack_report_svg, 32 },
	{ ".html", stack_report_html, 32 },
	{ ".pb.gz", stack_report_pprof, 16 },
	{ ".json", stack_report_speedscope, 16 },
	{ ".perf", stack_report_perf, PERF_FRAME_BYTES },
};

const struct stack_format *const stack_format_text = &formats[TEXT];
const struct stack_format *const stack_format_folded = &formats[FOLDED];
const struct stack_format *const stack_format_json = &formats[JSON];

static int most_first(const void *left, const void *right, void *arg)
{
	const struct stack_entry *l = left, *r = right;
	const struct measure *measure = arg;
	uint64_t of_left = measure->value(&l->value), of_right = measure->value(&r->value);

	return order_of(of_right, of_left) ?: memcmp(&l->key, &r->key, sizeof(l->key));
}

void stack_entries_sort(struct stack_entry *entries, size_t nr, const struct measure *measure)
{
	qsort_r(entries, nr, sizeof(*entries), most_first, (void *)measure);
}

bool file_name_ends_in(const char *file_name, const char *ending)
{
	size_t length = strlen(file_name), end = strlen(ending);

	return length > end && !strcmp(file_name + length - end, ending);
}

const struct stack_format *stack_format_of(const char *file_name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (file_name_ends_in(file_name, formats[i].ending))
			return &formats[i];
	return NULL;
}
