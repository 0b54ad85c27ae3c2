// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_report.h"

#include <string.h>

enum { TEXT, FOLDED, JSON };

static const struct stack_format formats[] = {
	[TEXT] = { ".txt", stack_report_text, .joins = true },
	[FOLDED] = { ".folded", stack_report_folded, .joins = true },
	[JSON] = { ".jsonl", stack_report_json, .joins = true },
	{ ".svg", stack_report_svg },
	{ ".html", stack_report_html },
	{ ".pb.gz", stack_report_pprof },
	{ ".json", stack_report_speedscope },
	{ ".perf", stack_report_perf },
};

const struct stack_format *const stack_format_text = &formats[TEXT];
const struct stack_format *const stack_format_folded = &formats[FOLDED];
const struct stack_format *const stack_format_json = &formats[JSON];

const struct stack_format *stack_format_of(const char *file_name)
{
	size_t length = strlen(file_name);

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t ending = strlen(formats[i].ending);

		if (length > ending && !strcmp(file_name + length - ending, formats[i].ending))
			return &formats[i];
	}
	return NULL;
}
