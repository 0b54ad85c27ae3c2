// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks for speedscope: one "sampled" profile of its file format, with a sample for each stack and
 * its weight.
 */
#include <errno.h>
#include <inttypes.h>

#include "report/page_text.h"
#include "report/stack_labels.h"
#include "report/stack_report.h"

static void put_frames(FILE *out, const struct labels *labels)
{
	fputs(",\n\"shared\":{\"frames\":[", out);
	for (size_t i = 0; i < labels_count(labels); i++) {
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		page_put_json(out, page_json(labels_get(labels, i)->text));
		putc('}', out);
	}
	fputs("]}", out);
}

static void put_stack(FILE *out, const struct stack_labels *labels)
{
	putc('[', out);
	for (size_t i = 0; i < labels->nr; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", labels->numbers[i]);
	putc(']', out);
}

/* the part of the profile before its weights */
static int put_samples(FILE *out, struct stack_labels *labels, const struct stack_summary *summary,
		       const struct stack_entry *entries, size_t nr)
{
	const struct measure *measure = summary->measure;
	const char *unit = "none";
	uint64_t sum = 0;

	if (measure->is_time)
		unit = "nanoseconds";
	else if (measure->sum_unit && !strcmp(measure->sum_unit, "bytes"))
		unit = "bytes";
	for (size_t i = 0; i < nr; i++)
		sum += measure->value(&entries[i].value);
	fputs(",\n\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
	page_put_json(out, page_json(summary->tool));
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		unit, sum);
	for (size_t i = 0; i < nr; i++) {
		if (stack_labels_of(labels, &entries[i]))
			return -ENOMEM;
		fputs(i ? ",\n" : "\n", out);
		put_stack(out, labels);
	}
	return 0;
}

int stack_report_speedscope(const struct stack_writer *w, const struct stack_summary *summary,
			    const struct stack_entry *entries, size_t nr)
{
	struct stack_labels labels = {
		.writer = w,
		.labels = labels_new(),
		.off_cpu = summary->measure->is_time,
	};
	FILE *out = w->out;
	int error;

	if (!labels.labels)
		return -ENOMEM;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"ehperf\",\"name\":",
	      out);
	page_put_json(out, page_json(summary->command_line));
	error = put_samples(out, &labels, summary, entries, nr);
	if (!error) {
		fputs("],\n\"weights\":[", out);
		for (size_t i = 0; i < nr; i++)
			fprintf(out, "%s%" PRIu64, i ? "," : "",
				summary->measure->value(&entries[i].value));
		fputs("]}]", out);
		put_frames(out, labels.labels);
		fputs("}\n", out);
	}
	stack_labels_free(&labels);
	labels_free(labels.labels);
	return error;
}
